//! SVG by hand: an element with its title, texts and marks. Colours are classes and variables, so that one drawing serves
//! light and dark, in a page and alone.

use std::fmt::Write;

/// Width of a chart in its own units.
pub const WIDTH: f64 = 960.0;

/// Rules of all drawings; the variables stand in [`LIGHT`] and [`DARK`].
pub const CHART_CSS: &str = include_str!("chart.css");
/// Values of the variables in light.
pub const LIGHT: &str = include_str!("light.css");
/// Values of the variables in dark.
pub const DARK: &str = include_str!("dark.css");

/// A drawing under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Svg {
    title: String,
    attributes: String,
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    /// An empty drawing. `title` is what a reader who cannot see it is told.
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        Self { title: title.to_string(), attributes: String::new(), width, height, body: String::new() }
    }

    /// Changes its height.
    pub fn set_height(&mut self, height: f64) {
        self.height = height;
    }

    /// Adds an attribute to the element itself.
    pub fn attribute(&mut self, name: &str, value: &str) {
        let _ = write!(self.attributes, " {name}=\"{}\"", escape(value));
    }

    /// Adds markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
        self.body.push('\n');
    }

    /// A text; `class` may add `m` or `e` for anchors in the middle and at the end.
    pub fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let _ = writeln!(
            self.body,
            "<text{} x=\"{}\" y=\"{}\">{}</text>",
            class_of(class),
            at(x),
            at(y),
            escape(text)
        );
    }

    /// A rectangle with what it says when it is pointed at, if anything.
    pub fn rect(&mut self, (x, y, width, height): (f64, f64, f64, f64), class: &str, says: &str) {
        let (x, y, w, h) = (at(x), at(y), at(width), at(height));
        let start = format!("<rect{} x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"", class_of(class));
        self.finish("rect", start, says);
    }

    /// A circle.
    pub fn circle(&mut self, (x, y, r): (f64, f64, f64), class: &str, says: &str) {
        let start = format!("<circle{} cx=\"{}\" cy=\"{}\" r=\"{}\"", class_of(class), at(x), at(y), at(r));
        self.finish("circle", start, says);
    }

    /// A path.
    pub fn path(&mut self, d: &str, class: &str, says: &str) {
        let start = format!("<path{} d=\"{d}\"", class_of(class));
        self.finish("path", start, says);
    }

    fn finish(&mut self, tag: &str, start: String, says: &str) {
        self.body.push_str(&start);
        if says.is_empty() {
            self.body.push_str("/>\n");
        } else {
            let _ = writeln!(self.body, "><title>{}</title></{tag}>", escape(says));
        }
    }

    /// The element, for a page whose style has the rules.
    pub fn element(&self) -> String {
        self.markup("")
    }

    /// The drawing as a file by itself.
    pub fn document(&self) -> String {
        self.markup(&format!(
            "<style>\nsvg{{{LIGHT}}}\n@media(prefers-color-scheme:dark){{svg{{{DARK}}}}}\n{CHART_CSS}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n"
        ))
    }

    fn markup(&self, head: &str) -> String {
        let (width, height, title) = (at(self.width), at(self.height), escape(&self.title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{title}\"{}>\n{head}{}</svg>\n",
            self.attributes, self.body
        )
    }
}

fn class_of(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") }
}

/// A coordinate with one decimal at most.
pub fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

/// Text as markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// About how wide a text of a chart is.
pub fn width_of(text: &str) -> f64 {
    6.4 * text.chars().count() as f64
}

/// Text cut to `most` characters, its middle left out.
pub fn shortened(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_string();
    }
    let head = most.saturating_sub(1) / 2;
    let tail = most.saturating_sub(1) - head;
    let mut short: String = chars[..head].iter().collect();
    short.push('…');
    short.extend(&chars[chars.len() - tail..]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_carry_their_style_and_elements_do_not() {
        let mut svg = Svg::new("a & b", 100.0, 50.0);
        svg.rect((1.0, 2.04, 3.25, 4.0), "l3", "x < \"y\"");
        let (element, document) = (svg.element(), svg.document());
        assert!(!element.contains("<style>") && document.contains("prefers-color-scheme:dark"));
        assert!(element.contains("aria-label=\"a &amp; b\""));
        assert!(element.contains(
            "<rect class=\"l3\" x=\"1\" y=\"2\" width=\"3.2\" height=\"4\"><title>x &lt; &quot;y&quot;</title></rect>"
        ));
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shortened("leaf0:3", 10), "leaf0:3");
        assert_eq!(shortened("a-very-long-name", 9), "a-ve…name");
    }
}
