//! A picture of a cluster as SVG: racks with their nodes, and a small square for each device, coloured by its holder's namespace.
//!
//! Invariant: the picture is valid XML, needs no other file and no font, and equal clusters give equal pictures. Squares shrink
//! with the number of devices; names of nodes are left out where they would not be readable.

mod colours;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use inventory::devices::{DeviceRow, DeviceState};
use inventory::domains::Domain;
use inventory::place::DevicePlace;

use colours::Colours;

/// How wide a picture is.
const WIDTH: usize = 1200;

/// The space at the edges, and between boxes.
const MARGIN: usize = 24;

/// The space within boxes.
const PADDING: usize = 6;

/// The size of text.
const TEXT: usize = 12;

/// The height of a line of text.
const LINE: usize = 18;

/// Sizes of squares, with up to how many devices each is used, in a picture of up to so many nodes.
const SIZES: [(usize, usize, usize); 4] =
    [(128, 16, 16), (512, 64, 12), (2_000, 200, 8), (usize::MAX, usize::MAX, 5)];

/// Below this size of squares nodes have no names.
const NAMED_SIZE_MIN: usize = 12;

/// How many characters of a name are shown.
const NAME_MAX: usize = 40;

/// A box of squares: a node, or a pool of devices that several nodes can use.
struct Cell<'c> {
    name: String,
    devices: Vec<&'c DeviceRow>,
}

/// A box of boxes: a domain, or devices that several nodes can use.
struct Rack<'c> {
    name: String,
    cells: Vec<Cell<'c>>,
    is_beyond: bool,
}

/// The picture of a cluster.
pub(super) fn svg(root: &Domain, devices: &[DeviceRow]) -> String {
    let racks = racks(root, devices);
    let colours = Colours::of(devices);
    let cells = racks.iter().map(|rack| rack.cells.len()).sum::<usize>();
    let fits = |(most, nodes, _): &&(usize, usize, usize)| devices.len() <= *most && cells <= *nodes;
    let size = SIZES.iter().find(fits).map_or(5, |(_, _, size)| *size);
    // Pools that several nodes reach have longer names than nodes, which need not be as wide for that.
    let (own, beyond) = racks.split_at(racks.iter().position(|rack| rack.is_beyond).unwrap_or(racks.len()));
    let layouts = [Layout::new(own, size), Layout::new(beyond, size)];
    let mut body = String::new();
    let mut y = MARGIN + 2 * LINE;
    let title = title(root, devices);
    text(&mut body, (MARGIN, MARGIN + TEXT), "title", &title);
    let (mut x, mut row_height) = (MARGIN, 0);
    for rack in &racks {
        let layout = &layouts[usize::from(rack.is_beyond)];
        let (columns, width, height) = layout.rack(rack);
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + row_height + MARGIN / 2);
            row_height = 0;
        }
        layout.draw_rack(&mut body, rack, (x, y), columns, &colours);
        x += width + MARGIN / 2;
        row_height = row_height.max(height);
    }
    y += row_height + MARGIN;
    let height = colours.legend(&mut body, (MARGIN, y), WIDTH - 2 * MARGIN) + MARGIN;
    let mut picture = String::new();
    let _ = writeln!(
        picture,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}">"#,
        escaped(&title)
    );
    let _ = writeln!(picture, "{}", colours::STYLE);
    let _ = writeln!(picture, r#"<rect width="{WIDTH}" height="{height}" fill="white"/>"#);
    picture.push_str(&body);
    picture.push_str("</svg>\n");
    picture
}

/// What the picture shows, in a line.
fn title(root: &Domain, devices: &[DeviceRow]) -> String {
    let count = |is: &dyn Fn(&DeviceState) -> bool| devices.iter().filter(|row| is(&row.state)).count();
    let free = count(&|state| *state == DeviceState::Free);
    let held = count(&|state| state.is_held());
    format!(
        "{} nodes, {} pods, {} devices: {free} free, {held} allocated, {} other",
        root.nodes.len(),
        root.pods,
        devices.len(),
        devices.len() - free - held
    )
}

/// The domains that are drawn as boxes, with their nodes, and devices that several nodes can use.
fn racks<'c>(root: &Domain, devices: &'c [DeviceRow]) -> Vec<Rack<'c>> {
    let mut on_node: BTreeMap<&str, Vec<&DeviceRow>> = BTreeMap::new();
    let mut beyond: BTreeMap<String, Vec<&DeviceRow>> = BTreeMap::new();
    for row in devices {
        match &row.place {
            DevicePlace::Node(node) => on_node.entry(node).or_default().push(row),
            place => {
                beyond.entry(format!("{}/{} ({place})", row.id.driver, row.id.pool)).or_default().push(row)
            }
        }
    }
    let mut found = Vec::new();
    collect(root, "", &mut found);
    let mut racks = Vec::new();
    for (name, nodes) in found {
        let cell = |node: String| {
            let devices = on_node.get(&*node).cloned().unwrap_or_default();
            Cell { name: node, devices }
        };
        racks.push(Rack { name, cells: nodes.into_iter().map(cell).collect(), is_beyond: false });
    }
    if !beyond.is_empty() {
        let cells = beyond.into_iter().map(|(name, devices)| Cell { name, devices });
        let name = "devices that several nodes can use".to_owned();
        racks.push(Rack { name, cells: cells.collect(), is_beyond: true });
    }
    racks
}

/// The domains with nodes of their own: the finest, but those that are no more than a node each.
fn collect(domain: &Domain, within: &str, found: &mut Vec<(String, Vec<String>)>) {
    let name = match (&domain.level, within.is_empty()) {
        (None, _) => String::new(),
        (Some(_), true) => domain.name.to_string(),
        (Some(_), false) => format!("{within} / {}", domain.name),
    };
    let names = |nodes: &[model::identity::NodeName]| nodes.iter().map(ToString::to_string).collect();
    if domain.domains.iter().all(|one| one.nodes.len() <= 1) {
        let title = if name.is_empty() { "cluster".to_owned() } else { name };
        found.push((title, names(&domain.nodes)));
        return;
    }
    for one in &domain.domains {
        collect(one, &name, found);
    }
    if !domain.elsewhere.is_empty() {
        let place = if name.is_empty() {
            "outside all domains".to_owned()
        } else {
            format!("{name} / outside all domains")
        };
        found.push((place, names(&domain.elsewhere)));
    }
}

/// Where things are in a picture.
struct Layout {
    /// The size of a square, and the distance from one to the next.
    size: usize,
    step: usize,
    /// Number of squares in a row of a box.
    across: usize,
    /// The size of a box of squares.
    cell_width: usize,
    cell_height: usize,
    is_named: bool,
}

impl Layout {
    fn new(racks: &[Rack<'_>], size: usize) -> Layout {
        let cells = || racks.iter().flat_map(|rack| &rack.cells);
        let most = cells().map(|cell| cell.devices.len()).max().unwrap_or(0).max(1);
        let across = if most <= 8 {
            most.min(4)
        } else if most <= 32 {
            8
        } else {
            16
        };
        let step = size + size.div_ceil(6).max(1);
        let is_named = size >= NAMED_SIZE_MIN;
        let name = cells().map(|cell| cell.name.chars().count().min(NAME_MAX)).max().unwrap_or(0);
        // A character is about 0.6 times as wide as it is high.
        let name_width = if is_named { name * TEXT * 6 / 10 } else { 0 };
        let cell_width = (across * step).max(name_width) + 2 * PADDING;
        let cell_height = most.div_ceil(across) * step + 2 * PADDING + if is_named { LINE } else { 0 };
        Layout { size, step, across, cell_width, cell_height, is_named }
    }

    /// Number of boxes in a row of a rack, and the size of the rack.
    fn rack(&self, rack: &Rack<'_>) -> (usize, usize, usize) {
        let count = rack.cells.len().max(1);
        let gap = PADDING;
        let room = (WIDTH - 2 * MARGIN - 2 * PADDING) / (self.cell_width + gap);
        // About as high as wide, and at least as wide as its name.
        let square = (1..=count)
            .find(|n| n * (self.cell_width + gap) >= count.div_ceil(*n) * (self.cell_height + gap));
        let columns = square.unwrap_or(count).clamp(1, room.max(1));
        let name = rack.name.chars().count().min(NAME_MAX + 16) * TEXT * 65 / 100;
        let width = (columns * (self.cell_width + gap) - gap).max(name) + 2 * PADDING;
        let height = count.div_ceil(columns) * (self.cell_height + gap) - gap + 2 * PADDING + LINE;
        (columns, width, height)
    }

    fn draw_rack(
        &self,
        body: &mut String,
        rack: &Rack<'_>,
        (x, y): (usize, usize),
        columns: usize,
        colours: &Colours,
    ) {
        let (_, width, height) = self.rack(rack);
        frame(body, (x, y), (width, height), "rack");
        text(body, (x + PADDING, y + PADDING + TEXT - 2), "name", &cut(&rack.name, NAME_MAX + 16));
        for (at, cell) in rack.cells.iter().enumerate() {
            let left = x + PADDING + (at % columns) * (self.cell_width + PADDING);
            let top = y + PADDING + LINE + (at / columns) * (self.cell_height + PADDING);
            self.draw_cell(body, cell, (left, top), colours);
        }
    }

    fn draw_cell(&self, body: &mut String, cell: &Cell<'_>, (x, y): (usize, usize), colours: &Colours) {
        frame(body, (x, y), (self.cell_width, self.cell_height), "node");
        let mut top = y + PADDING;
        if self.is_named {
            text(body, (x + PADDING, top + TEXT - 2), "small", &cut(&cell.name, NAME_MAX));
            top += LINE;
        }
        for (at, device) in cell.devices.iter().enumerate() {
            let place = (x + PADDING + (at % self.across) * self.step, top + (at / self.across) * self.step);
            colours.square(body, place, self.size, device);
        }
    }
}

/// The beginning of a name, if all of it is too long.
fn cut(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let mut cut: String = name.chars().take(most - 1).collect();
    cut.push('…');
    cut
}

fn frame(body: &mut String, (x, y): (usize, usize), (width, height): (usize, usize), class: &str) {
    let _ =
        writeln!(body, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/>"#);
}

fn text(body: &mut String, (x, y): (usize, usize), class: &str, words: &str) {
    let _ = writeln!(body, r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, escaped(words));
}

/// A text as XML has it. Characters that XML cannot have are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_the_picture() {
        assert_eq!(escaped("a<b>&\"c\"\u{1}"), "a&lt;b&gt;&amp;&quot;c&quot;");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
    }
}
