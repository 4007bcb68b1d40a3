//! A derive of `JsonSchema` that derives nothing: in place of that of `schemars` in builds that
//! describe no JSON, so that types name it without conditions.

use proc_macro::TokenStream;

/// Nothing. It takes the attributes that the real one reads.
#[proc_macro_derive(JsonSchema, attributes(schemars))]
pub fn json_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
