// When this page was loaded and left, in any tab of this browser, so that the timelines can show what payments lived through.
import { forThisTab, recall, remember } from './remember.js';

const VISITS = 'visits';
const KEPT = 24;
/** A page that was killed could not say when it left. */
const KILLED_MS = 1;

/** Remembers this load, and when the page is left. */
export function noteVisit() {
  const [{ type } = {}] = performance.getEntriesByType('navigation');
  const at = Math.round(performance.timeOrigin);
  const tab = sessionTab();
  save([...saved(), { at, left: null, tab, reload: type === 'reload' }]);
  addEventListener('pagehide', () => save(saved().map((visit) => (visit.at === at && visit.tab === tab ? { ...visit, left: Date.now() } : visit))));
}

/**
 * The page loads after `from` and up to `to` as `{ start, end, reload }`: from the moment the page before it was left.
 * `reload` is true if the same tab was there before, also by way of another page.
 */
export function visitsWithin(from, to) {
  const all = saved();
  return all.flatMap((visit, index) => {
    if (visit.at <= from || visit.at > to) return [];
    const before = all.slice(0, index).findLast(({ tab }) => tab === visit.tab);
    const left = before?.left ?? visit.at - KILLED_MS;
    return [{ start: Math.max(from, Math.min(left, visit.at - KILLED_MS)), end: visit.at, reload: visit.reload || before !== undefined }];
  });
}

function saved() {
  try {
    const visits = JSON.parse(recall(VISITS) ?? '[]');
    return Array.isArray(visits) ? visits : [];
  } catch {
    return [];
  }
}

function save(visits) {
  remember(VISITS, JSON.stringify(visits.slice(-KEPT)));
}

/** A number that lasts as long as the tab. */
function sessionTab() {
  const given = recall('tab', forThisTab) ?? String(crypto.getRandomValues(new Uint32Array(1))[0]);
  remember('tab', given, forThisTab);
  return given;
}
