//! The consumer's scripts: each looks at whose the messages are and acts, in one step.

use std::sync::LazyLock;

use crate::scripts::Script;

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {$(
        pub(super) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(include_str!(concat!("../../scripts/consumer/", $file))));
    )*};
}

scripts! {
    MAY = "may.lua";
    CREATE = "create.lua";
    UNDO = "undo.lua";
    FLOOR = "floor.lua";
    CLAIM = "claim.lua";
    RENEW = "renew.lua";
    ACKNOWLEDGE = "acknowledge.lua";
    BURY = "bury.lua";
    GIVE_BACK = "give_back.lua";
    LEAVE = "leave.lua";
}
