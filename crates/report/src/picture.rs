//! A picture as shapes with positions and colours, drawn alike as PNG and as SVG. Its content is
//! left to the caller.

mod raster;
mod shapes;
mod svg;

pub(crate) use raster::draw as png;
pub(crate) use shapes::{
    Anchor, BLACK, BLUE, CHAR, FAINT, GRID, INK, MARGIN, ORANGE, OTHERS, Picture, ROW, Shape, folded,
};
pub(crate) use svg::draw as svg;
