//! Searches one segment, or a folder of segments as one.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use tesselle_core::driver::parallel;
use tesselle_core::{Action, At, Driver, Error, Location, OpenOptions, Predicate, Result, setters};

use super::boost::Boosts;
use super::filter;
use super::hit::{Hit, Hits, SegmentCounts};
use super::meta::LiveDocs;
use super::query::{Pattern, Query, Syntax};
use super::retrieve::Retrieval;
use super::segment::{Reading, Segment};
use super::statistics::Statistics;
use super::stored::StoredPhrases;
use super::top::{Collector, Floor, Scored, TopDocs, TopScores};
use crate::collection::{Collection, MANIFEST_NAME};

/// Candidates that are looked at first if fields are boosted.
const MIN_CANDIDATES: usize = 64;

/// Options of a search.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// Number of hits.
    pub k: usize,
    /// Better hits that are passed over: those of the pages before.
    pub offset: usize,
    /// Whether all documents that match are counted, which looks at every one of them.
    pub total: bool,
    /// How the query is read.
    pub syntax: Syntax,
    /// Only documents whose stored columns match this predicate.
    pub filter: Option<Predicate>,
    /// Number of characters of text to show around matches; `None`: no highlights.
    pub highlight: Option<usize>,
    /// How much words in some fields count.
    pub boosts: Boosts,
}

setters! { SearchOptions {
    with_k => k: usize,
    with_offset => offset: usize,
    with_total => total: bool,
    with_syntax => syntax: Syntax,
    with_filter => filter: impl Into<Option<Predicate>>,
    with_highlight => highlight: impl Into<Option<usize>>,
    with_boosts => boosts: Boosts,
} }

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            k: 10,
            offset: 0,
            total: false,
            syntax: Syntax::default(),
            filter: None,
            highlight: None,
            boosts: Boosts::default(),
        }
    }
}

/// Opens the segment or folder of segments at `location`, and searches it.
pub fn search(
    location: &Location,
    text: &str,
    options: &SearchOptions,
    open: &OpenOptions,
    driver: &Driver,
) -> Result<Hits> {
    // The query is checked first: a usage error must not depend on the data.
    let query = Query::parse(text, options.syntax)?;
    Searcher::open(location, open)?.search(&query, options, driver)
}

/// A document found, by number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Position of its segment among [`Searcher::segments`].
    pub segment: usize,
    /// Its number in the segment.
    pub doc: u32,
    /// Its score.
    pub score: f32,
}

/// One or many open segments.
#[derive(Debug)]
pub struct Searcher {
    segments: Vec<Segment>,
    /// Whether statistics span all segments of a folder, with equal scores ordered by document id.
    folder: bool,
}

impl Searcher {
    /// Opens a segment, or all segments of a folder: the members of its collection if it has a manifest,
    /// otherwise the files named `*.tatami` directly inside it. Files without an index are skipped, unless
    /// there are no others.
    pub fn open(location: &Location, options: &OpenOptions) -> Result<Self> {
        let is_manifest = location.name().ends_with(".manifest");
        if !is_manifest && !location.is_dir()? {
            return Ok(Self { segments: vec![Segment::open(location, options)?], folder: false });
        }
        let mut opened: Vec<Result<Segment>> = Vec::new();
        if is_manifest || location.join(MANIFEST_NAME).exists()? {
            let collection = Collection::open(location, &Segment::options(options))?;
            let open = |member| Segment::of(collection.open_member(member)?, Reading::OnDemand);
            opened.extend(collection.members().iter().map(open));
        } else {
            let names = location.list()?.into_iter().map(|entry| entry.name);
            let named = names.filter(|name| name.ends_with(".tatami"));
            opened.extend(named.map(|name| Segment::open(&location.join(&name), options)));
        }
        let mut segments = Vec::new();
        let mut other = None;
        for segment in opened {
            match segment {
                Ok(segment) => segments.push(segment),
                Err(error) if error.class_name() == "not_search_segment" => other = Some(error),
                Err(error) => return Err(error),
            }
        }
        if segments.is_empty() {
            return Err(other.unwrap_or_else(|| {
                Error::not_found("the folder has no search segment")
                    .file(location.path())
                    .suggest("segments are files named *.tatami; {} builds them", [Action::Index])
            }));
        }
        Ok(Self { segments, folder: true })
    }

    /// Combines segments that are searched as one, in this order.
    pub fn of(segments: Vec<Segment>) -> Self {
        Self { segments, folder: true }
    }

    /// The open segments.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The best documents.
    ///
    /// One segment: score descending, then document ascending. A folder: score descending, then `doc_id`
    /// ascending, and of equal `doc_id`s only the best; its segments are searched in parallel, the most
    /// promising first.
    pub fn search(&self, query: &Query, options: &SearchOptions, driver: &Driver) -> Result<Hits> {
        let mut allowed = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            allowed.push(match &options.filter {
                Some(predicate) => Some(filter::allowed(segment, predicate, driver)?),
                None => None,
            });
        }
        let query = &*self.expanded(query)?;
        let run = QueryRun { searcher: self, query, allowed: &allowed, driver: Some(driver) };
        let mut answer = Hits::default();
        let wanted = options.k.saturating_add(options.offset);
        let best = run.boosted(wanted, options.boosts, &mut answer)?;
        let page = best.get(options.offset..).unwrap_or_default();
        self.fill(page, query, options, &mut answer)?;
        if options.total {
            answer.total = Some(run.total(driver)?);
        }
        Ok(answer)
    }

    /// The query with the words of the segments in place of its patterns.
    fn expanded<'q>(&self, query: &'q Query) -> Result<Cow<'q, Query>> {
        if !query.has_pattern() {
            return Ok(Cow::Borrowed(query));
        }
        let mut words = |pattern: &Pattern| {
            let mut words = BTreeSet::new();
            for segment in &self.segments {
                let start = pattern.start().as_bytes();
                let walked = segment.index().dictionary().for_each_from(start, |term| {
                    words.extend(
                        std::str::from_utf8(term)
                            .ok()
                            .filter(|term| pattern.matches(term))
                            .map(str::to_owned),
                    );
                });
                walked
                    .map_err(|error| error.class("bad_dictionary").file(segment.file().path().to_string()))?;
            }
            Ok(words.into_iter().collect())
        };
        query.expand(&mut words).map(Cow::Owned)
    }

    /// The best documents without their stored fields, in the order of [`Searcher::search`], on the calling thread.
    pub fn rank(&self, query: &Query, k: usize) -> Result<Vec<Ranked>> {
        let query = &*self.expanded(query)?;
        let run = QueryRun { searcher: self, query, allowed: &[], driver: None };
        let mut answer = Hits::default();
        Ok(run
            .best(k, &mut answer)?
            .into_iter()
            .map(|(segment, hit)| Ranked { segment, doc: hit.doc, score: hit.score })
            .collect())
    }

    /// Reads the stored fields of the hits, segment by segment.
    fn fill(
        &self,
        best: &[(usize, Scored)],
        query: &Query,
        options: &SearchOptions,
        answer: &mut Hits,
    ) -> Result<()> {
        let mut filled: Vec<Option<Hit>> = best.iter().map(|_| None).collect();
        let tokens = query.tokens();
        for (number, segment) in self.segments.iter().enumerate() {
            let places: Vec<usize> =
                best.iter().enumerate().filter(|(_, (s, _))| *s == number).map(|(place, _)| place).collect();
            if places.is_empty() {
                continue;
            }
            let docs: Vec<u32> =
                places.iter().filter_map(|place| best.get(*place)).map(|(_, hit)| hit.doc).collect();
            let mut highlights = match options.highlight {
                Some(limit) => segment.highlights(&docs, &tokens, limit)?.into_iter().map(Some).collect(),
                None => vec![None; docs.len()],
            }
            .into_iter();
            for (place, fields) in places.into_iter().zip(segment.fields(&docs)?) {
                let highlight = highlights.next().flatten();
                if let (Some(slot), Some((_, hit))) = (filled.get_mut(place), best.get(place)) {
                    let segment = segment.name().to_owned();
                    *slot = Some(Hit { segment, doc: hit.doc, score: hit.score, fields, highlight });
                }
            }
        }
        answer.hits = filled.into_iter().flatten().collect();
        Ok(())
    }
}

/// The state of one query.
struct QueryRun<'a> {
    searcher: &'a Searcher,
    query: &'a Query,
    /// Per segment: the documents that pass the filter and are live.
    allowed: &'a [Option<LiveDocs>],
    /// The driver for searching segments in parallel; `None` for sequential search.
    driver: Option<&'a Driver>,
}

/// A query on one segment, and the upper bound of its scores.
struct Candidate<'a> {
    segment: usize,
    bound: f32,
    retrieval: Retrieval<'a>,
}

impl<'a> QueryRun<'a> {
    fn retrieval(&self, number: usize, statistics: &Statistics) -> Result<Option<Retrieval<'a>>> {
        let Some(segment) = self.searcher.segments.get(number) else { return Ok(None) };
        let live = self.allowed.get(number).and_then(Option::as_ref).or(segment.live());
        Retrieval::try_new(segment.index(), self.query, statistics, live)
            .map_err(|error| error.file(segment.file().path().to_string()))
            .map(Some)
    }

    fn collect(
        &self,
        number: usize,
        retrieval: Retrieval<'_>,
        collector: &mut impl Collector,
        answer: &mut Hits,
    ) -> Result<()> {
        let Some(segment) = self.searcher.segments.get(number) else { return Ok(()) };
        let mut phrases = StoredPhrases::new(segment);
        let result = retrieval.run(collector, &mut phrases);
        answer.unverified += phrases.unverified;
        answer.segments.visited += 1;
        result.map_err(|error| error.file(segment.file().path().to_string()))
    }

    /// How many documents match; of equal `doc_id`s in a folder one counts.
    fn total(&self, driver: &Driver) -> Result<u64> {
        let statistics = Statistics::default();
        let (mut count, mut ids) = (0, HashSet::new());
        for (number, segment) in self.searcher.segments.iter().enumerate() {
            driver.check_canceled()?;
            let Some(retrieval) = self.retrieval(number, &statistics)? else { continue };
            let docs = retrieval.matching(&mut StoredPhrases::new(segment));
            let docs = docs.map_err(|error| error.file(segment.file().path().to_string()))?;
            count += docs.len() as u64;
            if self.searcher.segments.len() > 1 {
                ids.extend(segment.doc_ids(&docs)?);
            }
        }
        Ok(if self.searcher.segments.len() > 1 { ids.len() as u64 } else { count })
    }

    /// The best documents by the words they contain.
    fn best(&self, k: usize, answer: &mut Hits) -> Result<Vec<(usize, Scored)>> {
        if self.searcher.folder { self.many(k, answer) } else { self.single(k, answer) }
    }

    /// The best documents by the words they contain and the fields that contain them: as many candidates are taken as it
    /// needs until no other document can reach the worst of the best.
    fn boosted(&self, k: usize, boosts: Boosts, answer: &mut Hits) -> Result<Vec<(usize, Scored)>> {
        boosts.check()?;
        if k == 0 || boosts == Boosts::default() {
            return self.best(k, answer);
        }
        let words: HashSet<&str> = self.query.tokens().into_iter().collect();
        let mut candidates = k.saturating_mul(4).max(MIN_CANDIDATES);
        loop {
            let mut hits = self.best(candidates, answer)?;
            let is_all = hits.len() < candidates;
            let bound = hits.last().map_or(0.0, |(_, worst)| worst.score * boosts.most());
            for (number, segment) in self.searcher.segments.iter().enumerate() {
                let mut own: Vec<&mut Scored> =
                    hits.iter_mut().filter(|(of, _)| *of == number).map(|(_, hit)| hit).collect();
                let docs: Vec<u32> = own.iter().map(|hit| hit.doc).collect();
                if docs.is_empty() {
                    continue;
                }
                for (hit, fields) in own.iter_mut().zip(segment.fields(&docs)?) {
                    hit.score *= boosts.factor(&words, &fields);
                }
            }
            // Equal scores stay in their order.
            hits.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
            if is_all || hits.get(k - 1).is_some_and(|(_, last)| last.score >= bound) {
                hits.truncate(k);
                return Ok(hits);
            }
            candidates = candidates.saturating_mul(4);
        }
    }

    /// One segment with its own statistics.
    fn single(&self, k: usize, answer: &mut Hits) -> Result<Vec<(usize, Scored)>> {
        answer.segments = SegmentCounts { total: 1, candidates: 1, visited: 0 };
        let Some(segment) = self.searcher.segments.first() else { return Ok(Vec::new()) };
        let statistics = Statistics::of_segment(segment.index(), &self.query.tokens())
            .map_err(|error| error.class("bad_dictionary").file(segment.file().path().to_string()))?;
        let mut top = TopDocs::new(k);
        if let Some(retrieval) = self.retrieval(0, &statistics)? {
            self.collect(0, retrieval, &mut top, answer)?;
        }
        Ok(top.into_sorted().into_iter().map(|hit| (0, hit)).collect())
    }

    /// All segments with common statistics.
    fn many(&self, k: usize, answer: &mut Hits) -> Result<Vec<(usize, Scored)>> {
        let tokens = self.query.tokens();
        let mut statistics = Statistics::default();
        for segment in &self.searcher.segments {
            statistics
                .add(segment.index(), &tokens)
                .map_err(|error| error.class("bad_dictionary").file(segment.file().path().to_string()))?;
        }
        // Duplicate documents take up places: request more until k distinct ones are found.
        let mut wanted = k;
        loop {
            *answer = Hits {
                segments: SegmentCounts { total: self.searcher.segments.len(), ..Default::default() },
                ..Default::default()
            };
            let found = self.best_scores(wanted, &statistics, answer)?;
            let complete = found.len() < wanted;
            let mut hits = self.distinct(found)?;
            if hits.len() >= k || complete {
                hits.truncate(k);
                return Ok(hits);
            }
            wanted = wanted.saturating_mul(2);
        }
    }

    /// All hits that reach the `k`-th best score over all segments.
    fn best_scores(
        &self,
        k: usize,
        statistics: &Statistics,
        answer: &mut Hits,
    ) -> Result<Vec<(usize, Scored)>> {
        let mut candidates = Vec::new();
        for segment in 0..self.searcher.segments.len() {
            if let Some(retrieval) = self.retrieval(segment, statistics)? {
                let bound = retrieval.bound();
                if bound > 0.0 {
                    candidates.push(Candidate { segment, bound, retrieval });
                }
            }
        }
        answer.segments.candidates = candidates.len();
        // The most promising first: their scores prune the others.
        candidates.sort_by(|a, b| b.bound.total_cmp(&a.bound).then(a.segment.cmp(&b.segment)));
        let floor = Floor::default();
        let threads = self.driver.map_or(1, Driver::threads).min(candidates.len());
        // The number of unchecked phrases depends on the order; one thread makes it deterministic.
        if let Some(driver) = self.driver.filter(|_| threads > 1 && !self.query.has_phrase()) {
            return self.in_parallel(k, candidates, &floor, threads, driver, answer);
        }
        let mut top = TopScores::new(k, &floor);
        for Candidate { segment, bound, retrieval } in candidates {
            if !top.admits(bound) {
                break;
            }
            top.enter(segment);
            self.collect(segment, retrieval, &mut top, answer)?;
        }
        Ok(top.into_hits())
    }

    /// Threads take the most promising remaining segment; the hits of one prune the work of the others.
    fn in_parallel(
        &self,
        k: usize,
        candidates: Vec<Candidate<'_>>,
        floor: &Floor,
        threads: usize,
        driver: &Driver,
        answer: &mut Hits,
    ) -> Result<Vec<(usize, Scored)>> {
        let queue = Mutex::new(candidates.into_iter());
        let search = |_| {
            let mut top = TopScores::new(k, floor);
            let mut part = Hits::default();
            loop {
                driver.check_canceled()?;
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(Candidate { segment, retrieval, .. }) = next.filter(|next| top.admits(next.bound))
                else {
                    break;
                };
                top.enter(segment);
                self.collect(segment, retrieval, &mut top, &mut part)?;
            }
            Ok((top.into_hits(), part.segments.visited))
        };
        let parts: Vec<Result<_>> = driver.install(|| parallel::map(0..threads, search));
        let mut top = TopScores::new(k, floor);
        for part in parts {
            let (hits, visited) = part?;
            answer.segments.visited += visited;
            top.absorb(hits);
        }
        Ok(top.into_hits())
    }

    /// Sorts by score descending, then `doc_id` ascending; keeps the first of equal `doc_id`s.
    fn distinct(&self, hits: Vec<(usize, Scored)>) -> Result<Vec<(usize, Scored)>> {
        let mut keyed = Vec::with_capacity(hits.len());
        let numbers: BTreeSet<usize> = hits.iter().map(|(number, _)| *number).collect();
        let mut ids: HashMap<(usize, u32), Vec<u8>> = HashMap::with_capacity(hits.len());
        for number in numbers {
            let segment = self.searcher.segments.at(number)?;
            let docs: Vec<u32> = hits.iter().filter(|(n, _)| *n == number).map(|(_, hit)| hit.doc).collect();
            ids.extend(docs.iter().map(|doc| (number, *doc)).zip(segment.doc_ids(&docs)?));
        }
        for (number, hit) in hits {
            let id = ids.remove(&(number, hit.doc));
            keyed.push((id.ok_or_else(|| Error::internal("a hit has no id"))?, number, hit));
        }
        keyed.sort_by(|a, b| {
            let scores = b.2.score.total_cmp(&a.2.score);
            scores.then_with(|| a.0.cmp(&b.0)).then(a.1.cmp(&b.1)).then(a.2.doc.cmp(&b.2.doc))
        });
        let mut seen = HashSet::new();
        Ok(keyed
            .into_iter()
            .filter(|(id, _, _)| seen.insert(id.clone()))
            .map(|(_, n, hit)| (n, hit))
            .collect())
    }
}
