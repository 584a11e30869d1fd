//! Feeds our parsers and decoders what nobody would write.
