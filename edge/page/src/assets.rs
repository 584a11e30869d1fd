//! The files of the page, which are part of the binary. They are served as they are in the repository: there is no build step.

use hyper::StatusCode;

use crate::answer::{HTML, PageResponse, answer};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// A file by its path.
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) text: &'static str,
}

const fn script(path: &'static str, text: &'static str) -> Asset {
    Asset { path, media_type: SCRIPT, text }
}

/// Every file.
pub(crate) const ASSETS: [Asset; 17] = [
    Asset { path: "/", media_type: HTML, text: include_str!("../assets/index.html") },
    Asset { path: "/style.css", media_type: STYLE, text: include_str!("../assets/style.css") },
    Asset { path: "/icon.svg", media_type: "image/svg+xml", text: include_str!("../assets/icon.svg") },
    script("/main.js", include_str!("../assets/main.js")),
    script("/store.js", include_str!("../assets/store.js")),
    script("/types.js", include_str!("../assets/types.js")),
    script("/dom.js", include_str!("../assets/dom.js")),
    script("/words.js", include_str!("../assets/words.js")),
    script("/palette.js", include_str!("../assets/palette.js")),
    script("/map.js", include_str!("../assets/map.js")),
    script("/chart.js", include_str!("../assets/chart.js")),
    script("/view-cluster.js", include_str!("../assets/view-cluster.js")),
    script("/view-waiting.js", include_str!("../assets/view-waiting.js")),
    script("/view-decisions.js", include_str!("../assets/view-decisions.js")),
    script("/view-object.js", include_str!("../assets/view-object.js")),
    script("/view-plan.js", include_str!("../assets/view-plan.js")),
    script("/view-history.js", include_str!("../assets/view-history.js")),
];

/// What is shown to who has no session.
pub(crate) const SIGN_IN: &str = include_str!("../assets/sign-in.html");

/// The file of a path.
pub(crate) fn asset(path: &str) -> Option<PageResponse> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    Some(answer(StatusCode::OK, asset.media_type, asset.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_nothing_of_elsewhere_and_have_no_script_or_style_in_line() {
        for asset in &ASSETS {
            let text = asset.text.replace("http://www.w3.org/", "");
            assert!(
                !text.contains("http://") && !text.contains("https://"),
                "{} names another site",
                asset.path
            );
            if asset.media_type == HTML {
                assert!(!text.contains("style=") && !text.contains("<style"), "{}", asset.path);
                assert!(!text.contains("onclick") && !text.contains("<script>"), "{}", asset.path);
            }
            if asset.media_type == SCRIPT {
                assert!(text.starts_with("// @ts-check\n"), "{} is not checked for types", asset.path);
                assert!(!text.contains("innerHTML") && !text.contains("eval("), "{}", asset.path);
            }
        }
    }

    #[test]
    fn every_module_that_is_imported_is_served() {
        for asset in ASSETS.iter().filter(|asset| asset.media_type == SCRIPT) {
            for import in asset.text.split("from \"./").skip(1) {
                let name = import.split('"').next().expect("it ends");
                let path = format!("/{name}");
                assert!(ASSETS.iter().any(|other| other.path == path), "{} imports {path}", asset.path);
            }
        }
    }
}
