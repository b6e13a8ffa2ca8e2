//! Keys from a literal with parts in it.

use std::fmt;

use super::{KeyWriter, ToKey};

/// Ends a part where nothing else shows its end. Before these literals no text holds an escaped
/// `.`.
const END: &str = "\\.";

/// A key given as text with parts in it: `"{tenant}/{order}"`. The attribute builds it from such a
/// literal.
///
/// The literals stand as they are. A part is written as in a tuple, and the first character of the
/// literal that follows it is escaped within it as well.
///
/// So `"{tenant}/{order}"` of `"a/b"` and `7` is `a\/b/7`.
#[derive(Clone, Copy)]
pub struct Template<'a> {
    literals: &'a [&'a str],
    parts: &'a [&'a dyn ToKey],
}

impl<'a> Template<'a> {
    /// A template of literals with a part between each two.
    ///
    /// # Panics
    /// If there is not exactly one literal more than parts, or if two parts touch, that is, if a
    /// literal between them is empty. The attribute refuses such templates when it compiles.
    #[must_use]
    pub const fn new(literals: &'a [&'a str], parts: &'a [&'a dyn ToKey]) -> Self {
        assert!(literals.len() == parts.len() + 1, "a template has one literal more than parts");
        let mut at = 1;
        while at + 1 < literals.len() {
            assert!(!literals[at].is_empty(), "two parts of a template touch");
            at += 1;
        }
        Template { literals, parts }
    }

    // Why no two lists of parts share a text, for one template: take off the first literal. What
    // follows is either a tuple, known by its parenthesis and ending at the one that closes it; or
    // a text, ending before the first unescaped character with which the next literal begins. That
    // character is no help if it is `\`, which would escape what comes after it, or `(`, which
    // after an empty text would look like a tuple: then the mark, which no text holds, ends the
    // part. The last part ends with the key. And so on with the rest.
    //
    /// A template whose parts are all empty is blank, whatever its literals say, since it tells no
    /// call from another.
    fn render(&self, out: &mut KeyWriter) {
        out.raw(self.literals[0]);
        out.nested = true;
        for (part, literal) in self.parts.iter().zip(&self.literals[1..]) {
            out.stop = literal.bytes().next();
            part.write(out);
            if matches!(out.stop, Some(b'\\' | b'(')) {
                out.raw(END);
            }
            out.raw(literal);
        }
        out.blank &= !self.parts.is_empty() || self.literals[0].is_empty();
    }
}

impl ToKey for Template<'_> {
    fn write(&self, out: &mut KeyWriter) {
        if !out.nested {
            return self.render(out);
        }
        // Inside something else it is a text like any other.
        let mut inner = KeyWriter::new();
        self.render(&mut inner);
        out.escape(&inner.text);
        out.blank &= inner.blank;
        out.fault = out.fault.or(inner.fault);
    }
}

impl fmt::Debug for Template<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({:?}, {} parts)", self.literals, self.parts.len())
    }
}
