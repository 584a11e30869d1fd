//! What to try next: the request with the least choice, counted the more the more often it was in the way, and for it the device
//! that others need least and that leaves the smallest remainder.

use super::bits;
use super::board::Board;
use super::model::Model;

/// What steers a search: it changes what is tried first, and never what is found to be impossible.
#[derive(Debug)]
pub(crate) struct Steering {
    /// How often each request was in the way.
    pub weight: Vec<u64>,
    /// For how many ways each device would do.
    wanted_by: Vec<u32>,
    /// How often the search began anew.
    pub round: u64,
}

impl Steering {
    pub fn new(model: &Model) -> Steering {
        let wanted =
            |device: usize| model.ways.iter().filter(|way| bits::contains(&way.open, device)).count() as u32;
        let wanted_by = (0..model.devices.len()).map(wanted).collect();
        Steering { weight: vec![1; model.requests.len()], wanted_by, round: 0 }
    }

    /// The request to go on with; nothing if all are satisfied.
    pub fn request(&self, model: &Model, board: &Board) -> Option<usize> {
        let open = (0..model.requests.len()).filter(|request| !board.is_done(model, *request));
        let choice = |request: usize| -> u64 {
            let free = |way: usize| u64::from(board.count[way] - board.missing(model, way)) + 1;
            board.ways(model, request).map(free).sum()
        };
        open.min_by(|left, right| {
            let key = |request: usize, other: usize| choice(request).saturating_mul(self.weight[other]);
            let begun = |request: usize| board.picks[request].is_empty();
            key(*left, *right).cmp(&key(*right, *left)).then(begun(*left).cmp(&begun(*right)))
        })
    }

    /// The way and the device to try for a request.
    pub fn device(&self, model: &Model, board: &Board, request: usize) -> Option<(usize, usize)> {
        let ways: Vec<usize> = board.ways(model, request).collect();
        let way = match self.round % 3 {
            0 => ways.iter().copied().min_by_key(|way| (model.ways[*way].need, *way))?,
            1 => *ways.first()?,
            _ => ways[(self.mixed(request) % ways.len() as u64) as usize],
        };
        let device = bits::ones(board.open(model, way)).min_by_key(|device| {
            let tie = if self.round > 1 { self.mixed(*device) } else { 0 };
            match self.round % 4 {
                0 => (self.wanted_by[*device].into(), left_on(model, board, *device), tie),
                1 => (left_on(model, board, *device), u64::from(self.wanted_by[*device]), tie),
                2 => (self.mixed(*device) % 4, left_on(model, board, *device), tie),
                _ => (u64::MAX - left_on(model, board, *device), self.wanted_by[*device].into(), tie),
            }
        });
        device.map(|device| (way, device))
    }

    /// A number that differs from round to round, and is the same on every machine.
    fn mixed(&self, number: usize) -> u64 {
        let seed = (self.round << 32 | number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ (mixed >> 27)
    }
}

/// How much is left where a device draws, in thousandths of what there was: the less, the better it fits.
fn left_on(model: &Model, board: &Board, device: usize) -> u64 {
    let facet = &model.devices[device];
    let share = |left: i128, whole: i128| {
        if whole > 0 { (left.max(0).saturating_mul(1000) / whole) as u64 } else { 0 }
    };
    let counters = facet
        .amounts
        .iter()
        .map(|(slot, _)| share(board.left[*slot as usize], model.counters.left[*slot as usize]));
    let capacity = board.capacity_left[device].iter().zip(&facet.capacity_left);
    counters.chain(capacity.map(|(left, whole)| share(*left, *whole))).sum()
}
