//! Items from a JSON document, pulled one after another; the document is never held.
//!
//! Two forms are read:
//! - one object of key to string: `{"color-de": "Farbe", "color-fr": "couleur"}`;
//! - JSON lines, one object for each item: `{"key": "color", "lang": "de", "value": "Farbe"}`, where `lang` may be left out.
//!   The item's key is `color-de`.
//!
//! They are told apart by the first object. It is a JSON line if its members are only `key`, `lang` and `value`, each at most
//! once, and it is either followed by another object or has both a key and a value. All else is the first form.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::mem::take;
use std::path::Path;

use super::blob::{Address, Blob, Patience};
use super::document::Document;
use super::text::{Place, Text};
use crate::items::{Item, Items, SourceError};

/// The members of a JSON line.
const FIELDS: [&str; 3] = ["key", "lang", "value"];

/// The items of a JSON document.
pub struct Json<R: Read = File> {
    text: Text<R>,
    form: Form,
    /// Items read while the form was not yet known: at most four.
    early: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// The member that made the first object no JSON line though it began like one.
    stranger: Option<String>,
    key: Vec<u8>,
    value: Vec<u8>,
    line: Line,
}

enum Form {
    /// Inside the one object, behind a member.
    Object,
    /// Between two objects.
    Lines,
    /// Behind the last item.
    Ended,
}

impl Json {
    /// # Errors
    /// A file that cannot be read or does not begin with a JSON object.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::new(Document::open(path)?)
    }
}

impl Json<Blob> {
    /// The items of the document behind a URL, read while it is fetched.
    ///
    /// # Errors
    /// A blob that can't be fetched or does not begin with a JSON object.
    pub fn fetch(address: &Address, patience: &Patience) -> Result<Self, SourceError> {
        Self::new(Document::new(Blob::open(address, patience)?, address.shown())?)
    }
}

impl<R: Read> Json<R> {
    /// The items of any document; see [`Document::new`].
    ///
    /// # Errors
    /// A document that cannot be read or does not begin with a JSON object.
    pub fn new(document: Document<R>) -> Result<Self, SourceError> {
        let mut json = Self {
            text: Text::new(document)?,
            form: Form::Object,
            early: VecDeque::new(),
            stranger: None,
            key: Vec::new(),
            value: Vec::new(),
            line: Line::default(),
        };
        json.text.peek_after_space()?;
        let start = json.text.place();
        json.text.expect(b'{', "a JSON object ({\"key\": \"value\", ...}, or JSON lines of key, lang and value)")?;
        json.tell_the_form(start)?;
        Ok(json)
    }

    /// Reads the first object as far as it takes to know whether it is a JSON line.
    fn tell_the_form(&mut self, start: Place) -> Result<(), SourceError> {
        while self.member(self.early.is_empty())? {
            let known = FIELDS.iter().any(|field| field.as_bytes() == self.key);
            let repeated = self.early.iter().any(|(key, _)| *key == self.key);
            self.early.push_back((take(&mut self.key), take(&mut self.value)));
            if !known || repeated {
                let began_as_line = self.early.len() > 1;
                self.stranger = self.early.back().filter(|_| began_as_line).map(|(key, _)| readable(key));
                return Ok(());
            }
        }
        let another = self.text.peek_after_space()? == Some(b'{');
        let has = |field: &str| self.early.iter().any(|(key, _)| key == field.as_bytes());
        if !self.early.is_empty() && (another || (has("key") && has("value"))) {
            self.first_line(start)
        } else {
            self.end().map(drop)
        }
    }

    /// Turns the members of the first object into the item of the first line.
    fn first_line(&mut self, start: Place) -> Result<(), SourceError> {
        self.form = Form::Lines;
        for (name, mut value) in take(&mut self.early) {
            self.line.set(&name, &mut value).map_err(|complaint| self.text.complain_of(start, complaint))?;
        }
        self.line
            .finish(&mut self.key, &mut self.value)
            .map_err(|complaint| self.text.complain_of(start, complaint))?;
        self.early.push_back((take(&mut self.key), take(&mut self.value)));
        Ok(())
    }

    /// Reads a member of the object that was entered into key and value; false where the object closes instead.
    fn member(&mut self, first: bool) -> Result<bool, SourceError> {
        match self.text.peek_after_space()? {
            Some(b'}') => {
                self.text.step();
                return Ok(false);
            }
            Some(b'"') if first => {}
            Some(b',') if !first => self.text.step(),
            other if first => return Err(self.text.unexpected(other, "a key in double quotes or `}`")),
            other => {
                let hope = format!("`,` or `}}` after the value of \"{}\"", readable(&self.key));
                return Err(self.text.unexpected(other, hope));
            }
        }
        match self.text.peek_after_space()? {
            Some(b'"') => self.text.string(&mut self.key)?,
            other => return Err(self.text.unexpected(other, "a key in double quotes after `,`")),
        }
        self.member_value()?;
        Ok(true)
    }

    fn member_value(&mut self) -> Result<(), SourceError> {
        if self.text.peek_after_space()? != Some(b':') {
            let found = self.text.peek_after_space()?;
            return Err(self.text.unexpected(found, format!("`:` after the key \"{}\"", readable(&self.key))));
        }
        self.text.step();
        let kind = match self.text.peek_after_space()? {
            Some(b'"') => return self.text.string(&mut self.value),
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "true or false",
            Some(b'n') => "null",
            Some(b'-' | b'0'..=b'9') => "a number",
            other => return Err(self.text.unexpected(other, format!("a string for \"{}\"", readable(&self.key)))),
        };
        let key = readable(&self.key);
        Err(self.text.complain(format!(
            "the value of \"{key}\" is {kind}; every value must be a string: write it as one or leave it out"
        )))
    }

    /// Reads the object of one JSON line into key and value; false at the end of the document.
    fn next_line(&mut self) -> Result<bool, SourceError> {
        match self.text.peek_after_space()? {
            None => return Ok(false),
            Some(b'{') => {}
            other => return Err(self.text.unexpected(other, "another JSON line or the end of the document")),
        }
        let start = self.text.place();
        self.text.step();
        let mut first = true;
        while self.member(first)? {
            first = false;
            self.line.set(&self.key, &mut self.value).map_err(|complaint| self.text.complain_of(start, complaint))?;
        }
        self.line
            .finish(&mut self.key, &mut self.value)
            .map_err(|complaint| self.text.complain_of(start, complaint))?;
        Ok(true)
    }

    /// Behind the one object: nothing more may come. There is no further item, so this is false.
    fn end(&mut self) -> Result<bool, SourceError> {
        self.form = Form::Ended;
        let Some(more) = self.text.peek_after_space()? else { return Ok(false) };
        let hope = match &self.stranger {
            Some(stranger) if more == b'{' => format!(
                "the end of the document (as JSON lines it would have to hold only key, lang and value, each once; the first object also has \"{stranger}\")"
            ),
            _ => "the end of the document after the closing `}`".to_owned(),
        };
        Err(self.text.unexpected(Some(more), hope))
    }
}

impl<R: Read> Items for Json<R> {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        let there = if let Some((key, value)) = self.early.pop_front() {
            (self.key, self.value) = (key, value);
            true
        } else {
            match self.form {
                Form::Ended => false,
                Form::Lines => self.next_line()?,
                Form::Object => self.member(false)? || self.end()?,
            }
        };
        Ok(there.then_some(Item { key: &self.key, value: &self.value }))
    }
}

/// The members of one JSON line, gathered in any order; the buffers serve every line.
#[derive(Default)]
struct Line {
    members: [Vec<u8>; FIELDS.len()],
    there: [bool; FIELDS.len()],
}

impl Line {
    /// Takes a member's value, leaving a buffer in its place; a complaint if a line has no such member or has it already.
    fn set(&mut self, name: &[u8], value: &mut Vec<u8>) -> Result<(), String> {
        let Some(field) = FIELDS.iter().position(|field| field.as_bytes() == name) else {
            return Err(format!(
                "a JSON line with the unknown member \"{}\"; use only key, lang and value",
                readable(name)
            ));
        };
        if std::mem::replace(&mut self.there[field], true) {
            return Err(format!("a JSON line with two members \"{}\"; leave one", FIELDS[field]));
        }
        std::mem::swap(&mut self.members[field], value);
        Ok(())
    }

    /// Makes the item of the members and forgets them.
    fn finish(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<(), String> {
        let [name, lang, text] = &mut self.members;
        let there = take(&mut self.there);
        if let [false, ..] | [.., false] = there {
            let missing = if there[0] { "value" } else { "key" };
            return Err(format!("a JSON line without \"{missing}\"; each needs a key and a value"));
        }
        std::mem::swap(key, name);
        std::mem::swap(value, text);
        if there[1] {
            key.push(b'-');
            key.extend_from_slice(lang);
        }
        Ok(())
    }
}

/// A key as an error shows it: cut short, and on one line.
fn readable(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() { format!("{short}...") } else { short }
}
