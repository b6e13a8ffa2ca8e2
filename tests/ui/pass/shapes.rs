//! Every form of function that an `async fn` can have keeps its form.
#![deny(warnings)]

use std::{collections::HashMap, pin::Pin, rc::Rc, sync::Arc};

use idem_runtime::{Error, ToKey, idempotent};

struct Order<T> {
    id: u64,
    lines: Vec<T>,
}

struct Shop<'a, T> {
    name: &'a str,
    stock: HashMap<u64, T>,
}

trait Ship {
    type Parcel;

    async fn ship(&mut self, id: u64) -> Result<u64, Error>;
}

impl<'a, T: Clone> Shop<'a, T> {
    /// Docs, visibility and attributes stay.
    #[idempotent(name = "shapes.by_reference", key = (self.name, id))]
    #[must_use]
    #[inline]
    pub(crate) async fn by_reference(&self, id: u64) -> Result<usize, Error> {
        Ok(self.stock.len() + self.name.len() + usize::from(id > 0))
    }

    #[idempotent(name = "shapes.by_mutable_reference", key = (self.name, id))]
    async fn by_mutable_reference<'b>(&'b mut self, id: u64, item: T) -> Result<usize, Error> {
        self.stock.insert(id, item);
        Ok(self.stock.len())
    }

    #[idempotent(name = "shapes.by_value", key = self.name)]
    async fn by_value(mut self, name: &'a str) -> Result<usize, Error> {
        self.name = name;
        Ok(self.name.len())
    }

    #[idempotent(name = "shapes.boxed", key = self.name)]
    async fn boxed(self: Box<Self>) -> Result<usize, Error> {
        Ok(self.stock.len())
    }

    #[idempotent(name = "shapes.counted", key = self.name)]
    async fn counted(self: &Rc<Self>) -> Result<usize, Error> {
        Ok(Rc::strong_count(self))
    }

    #[idempotent(name = "shapes.pinned", key = self.name)]
    async fn pinned(self: Pin<&mut Self>) -> Result<usize, Error> {
        Ok(self.stock.len())
    }

    #[idempotent(key = 1)]
    async fn without() -> Result<usize, Error> {
        Ok(1)
    }
}

impl<T> Ship for Shop<'_, T> {
    type Parcel = T;

    #[idempotent(name = "shapes.ship", key = id)]
    async fn ship(&mut self, id: u64) -> Result<u64, Error> {
        self.stock.remove(&id);
        Ok(id)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Itself(u64);

impl Itself {
    #[idempotent(key = "{id}")]
    async fn load(id: u64) -> Result<Self, Error> {
        Ok(Self(id))
    }
}

#[idempotent(key = id)]
async fn patterns(
    Order { id, mut lines }: Order<String>,
    (first, _): (u64, &str),
    [a, b @ ..]: [u8; 3],
    _: Arc<str>,
) -> Result<u64, Error> {
    lines.push(String::new());
    Ok(id + first + u64::from(a) + b.len() as u64)
}

#[idempotent(key = (N, &key))]
async fn generic<K, const N: usize>(
    key: K,
    mut next: impl FnMut() -> u64,
) -> Result<[u64; 2], Error>
where
    K: ToKey + Clone,
{
    let _ = key.clone();
    Ok([next(), N as u64])
}

#[idempotent(key = n)]
async fn recursive(n: u64) -> Result<u64, Error> {
    if n == 0 {
        return Ok(0);
    }
    Ok(recursive(n - 1).await? + 1)
}

#[idempotent(key = text.parse::<u64>()?, fingerprint = text)]
async fn leaves_early(text: &str) -> anyhow::Result<u64> {
    let n: u64 = text.parse()?;
    if n > 5 {
        anyhow::bail!("too many");
    }
    for step in 0..n {
        if step == 1 {
            break;
        }
        if n > 3 {
            return Ok(3);
        }
    }
    Ok(n)
}

#[idempotent(key = id)]
async fn diverges(id: u64) -> Result<(), Error> {
    panic!("{id}")
}

#[idempotent(key = 1)]
#[tokio::main(flavor = "current_thread")]
async fn attribute_below() -> Result<(), Error> {
    Ok(())
}

#[idempotent(key = id)]
async fn inner_attributes(id: u64) -> Result<u64, Error> {
    #![allow(unused_variables)]
    let unused = id;
    Ok(id)
}

mod nested {
    #[super::idempotent(key = id)]
    pub(super) async fn outer(id: u64) -> Result<u64, super::Error> {
        #[super::idempotent(key = id)]
        async fn inner(id: u64) -> Result<u64, super::Error> {
            Ok(id)
        }
        inner(id).await
    }
}

macro_rules! declared_by_a_macro {
    ($name:ident, $ty:ty, $key:expr) => {
        #[idempotent(key = $key)]
        async fn $name() -> Result<$ty, Error> {
            Ok(<$ty>::default())
        }
    };
}
declared_by_a_macro!(made, Vec<u64>, (1, 2));

fn shop(name: &str) -> Shop<'_, u64> {
    Shop { name, stock: HashMap::new() }
}

#[test]
fn compiles() {
    let mut a = shop("a");
    drop(a.by_reference(1));
    drop(a.by_mutable_reference(1, 2));
    drop(a.ship(1));
    drop(Pin::new(&mut a).pinned());
    drop(a.by_value("b"));
    drop(Box::new(shop("a")).boxed());
    drop(Rc::new(shop("a")).counted());
    drop(Shop::<u64>::without());
    drop(Itself::load(1));
    drop(patterns(Order { id: 1, lines: Vec::new() }, (1, ""), [1, 2, 3], "".into()));
    drop(generic::<_, 2>("key", || 1));
    drop((
        recursive(1),
        leaves_early("1"),
        diverges(1),
        inner_attributes(1),
        nested::outer(1),
        made(),
    ));
    let _: fn() -> Result<(), Error> = attribute_below;
}
