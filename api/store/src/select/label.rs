//! Selectors over labels: `app=web,tier in (a, b),!legacy`.

use std::collections::BTreeMap;

use objects::selecting::Test;
use schema::names;

use super::BadSelector;

/// Requirements on labels that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test<Vec<String>>,
}

impl LabelSelector {
    /// Reads a selector as kubectl's `-l` takes it.
    ///
    /// # Errors
    /// When the text has another form, or a key or value can be no label.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        let mut parser = Parser { rest: text.trim() };
        let malformed =
            |what: &str| BadSelector::Malformed { selector: text.to_owned(), what: what.to_owned() };
        let mut requirements = Vec::new();
        while !parser.rest.is_empty() {
            requirements.push(parser.requirement().map_err(malformed)?);
            parser.skip_blanks();
            if parser.rest.is_empty() {
                break;
            }
            if !parser.take(",") {
                return Err(malformed("requirements are separated by ','"));
            }
            parser.skip_blanks();
            if parser.rest.is_empty() {
                return Err(malformed("a requirement must follow ','"));
            }
        }
        Ok(Self(requirements))
    }

    /// Nothing is required.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels meet every requirement.
    pub fn picks(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = |key: &str| labels.get(key).map(String::as_str);
        self.0.iter().all(|requirement| requirement.test.holds(label(&requirement.key)))
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'t str {
        self.skip_blanks();
        let end =
            self.rest.find(|c: char| c.is_whitespace() || "=!,()<>".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn requirement(&mut self) -> Result<Requirement, &'static str> {
        self.skip_blanks();
        let absent = self.take("!");
        let key = self.word();
        if !names::label_key(key).is_empty() {
            return Err("a requirement starts with the key of a label");
        }
        self.skip_blanks();
        let test = if absent {
            Test::Absent
        } else if self.rest.is_empty() || self.rest.starts_with(',') {
            Test::Exists
        } else {
            self.test()?
        };
        Ok(Requirement { key: key.to_owned(), test })
    }

    fn test(&mut self) -> Result<Test<Vec<String>>, &'static str> {
        if self.take("!=") {
            return Ok(Test::NotIn(vec![self.value()?]));
        }
        if self.take("==") || self.take("=") {
            return Ok(Test::In(vec![self.value()?]));
        }
        if self.take(">") {
            return self.value()?.parse().map(Test::Above).map_err(|_| "'>' needs an integer");
        }
        if self.take("<") {
            return self.value()?.parse().map(Test::Below).map_err(|_| "'<' needs an integer");
        }
        match self.word() {
            "in" => self.values().map(Test::In),
            "notin" => self.values().map(Test::NotIn),
            _ => Err("a key is followed by one of =, ==, !=, in, notin, <, >"),
        }
    }

    fn value(&mut self) -> Result<String, &'static str> {
        let value = self.word();
        if names::label_value(value).is_empty() {
            Ok(value.to_owned())
        } else {
            Err("a value can be no label")
        }
    }

    fn values(&mut self) -> Result<Vec<String>, &'static str> {
        self.skip_blanks();
        if !self.take("(") {
            return Err("'in' and 'notin' need values in parentheses");
        }
        let mut values = vec![self.value()?];
        loop {
            self.skip_blanks();
            if self.take(")") {
                return Ok(values);
            }
            if !self.take(",") {
                return Err("values are separated by ','");
            }
            values.push(self.value()?);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::LabelSelector;

    fn picks(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        LabelSelector::parse(selector).expect("the selector is well formed").picks(&labels)
    }

    #[test]
    fn every_operator_does_what_kubectl_says() {
        assert!(picks("", &[]));
        assert!(picks("a", &[("a", "")]) && !picks("a", &[]));
        assert!(picks("!a", &[]) && !picks("!a", &[("a", "1")]));
        assert!(picks("a=b", &[("a", "b")]) && picks("a==b", &[("a", "b")]) && !picks("a=b", &[]));
        assert!(picks("a!=b", &[]) && !picks("a != b", &[("a", "b")]));
        assert!(picks("a in (x, y),c notin (z)", &[("a", "y")]));
        assert!(picks("a>1,a<3", &[("a", "2")]) && !picks("a>1", &[("a", "x")]));
        assert!(picks("a=", &[("a", "")]) && picks("example.com/a=b", &[("example.com/a", "b")]));
    }

    #[test]
    fn malformed_selectors_are_refused() {
        for bad in [
            "a b", "a=b=c", "=a", "a in x", "a in (x", "a,", ",a", "a>x", "-a=b", "a=-", "a/b/c=d", "!a=b",
            "(a)",
        ] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad}");
        }
    }
}
