// The story that "Show me" plays: a lost answer and its rescue, each step done for real on this page and its server.
import { part, write } from './dom.js';
import { forThisTab, recall, remember } from './remember.js';
import { say, sayCount } from './words.js';

const STORY = 'story';
const FAULT = 'drop_after_commit';
/** Between a caption and what it announces; and how long a caption stays: as long as it takes to read. */
const BEFORE_MS = 750;
const READ_MS = 600;
const READ_PER_CHARACTER_MS = 28;
const LOOK_MS = 150;
/** A screen reader needs the region before its words. */
const REGION_MS = 120;
/** How long the story waits for the page or the server to do their part. */
const PATIENCE_MS = 40_000;

/**
 * Each step: what it points at, what it does at once (`act`) or once its caption was read (`after`), and what it waits for:
 * `standing` is the checkout's, `charged` the server's. The step after `leave` is played by the page that comes back.
 */
const steps = [
  { name: 'break', spot: `row-${FAULT}`, act: ({ faults }) => faults.set(FAULT, true) },
  { name: 'pay', spot: 'pay', after: ({ checkout }) => checkout.pay() },
  { name: 'lost', spot: 'told', until: ({ known, charged }) => charged > 0 && known?.attempts.some(({ result }) => result === 'network') },
  { name: 'reload', spot: 'device-area', leave: true },
  { name: 'back', spot: 'device-area', until: ({ known }) => known !== null },
  { name: 'mend', spot: 'device-area', act: ({ faults }) => faults.set(FAULT, false), until: ({ standing }) => standing === 'paid' },
  { name: 'done', spot: 'charges-area' },
];

export function createStory({ checkout, faults, charges }) {
  const [bar, start, caption, pause, next, stopButton] = ['story', 'show-me', 'story-caption', 'story-pause', 'story-next', 'story-stop'].map(part);
  /** The run in progress; another object means that the one held is over. */
  let run = null;

  start.addEventListener('click', () => begin());
  pause.addEventListener('click', () => {
    run.paused = !run.paused;
    render();
  });
  next.addEventListener('click', () => (run.hurry = true));
  stopButton.addEventListener('click', () => stop());
  for (const event of ['click', 'keydown']) document.addEventListener(event, takeOver, true);

  async function begin() {
    await stop({ mend: false });
    await faults.clear();
    checkout.fresh();
    run = { step: 0, paused: false, hurry: false, order: checkout.order().id };
    pause.focus({ preventScroll: true });
    play(run);
  }

  async function play(mine) {
    bar.hidden = false;
    render();
    pause.focus({ preventScroll: true });
    await pauseFor(REGION_MS);
    for (; run === mine && mine.step < steps.length; mine.step += 1) {
      const step = steps[mine.step];
      if (!(await playStep(mine, step))) return;
    }
  }

  /** False if the story is over, or goes on in the next page. */
  async function playStep(mine, { name, spot, act, after, until, leave }) {
    // What happened is told once it has happened; what is done is told before.
    if (!act && until && !(await reached(mine, until))) return false;
    mine.phase = name;
    render();
    point(spot);
    if (name === 'done') return false;
    let hurried = false;
    if (act) {
      hurried = await beat(mine, BEFORE_MS);
      if (run !== mine) return false;
      await act({ checkout, faults });
      if (until && !(await reached(mine, until))) return false;
    }
    if (!hurried) await beat(mine, READ_MS + READ_PER_CHARACTER_MS * caption.textContent.length);
    if (run !== mine) return false;
    await after?.({ checkout, faults });
    if (leave) {
      save(mine);
      location.reload();
    }
    return !leave;
  }

  async function reached(mine, until) {
    for (let waited = 0; run === mine; waited += LOOK_MS) {
      const seen = { known: checkout.snapshot(), standing: part('status').dataset.standing, charged: charges(checkout.order()) };
      if (until(seen)) return true;
      if (waited > PATIENCE_MS) {
        mine.phase = 'stuck';
        render();
        return false;
      }
      await pauseFor(LOOK_MS);
    }
    return false;
  }

  /** Waits that long, not counting pauses; "Next" ends it, and then the answer is true. */
  async function beat(mine, ms) {
    mine.hurry = false;
    for (let left = ms; run === mine && !mine.hurry && (left > 0 || mine.paused); ) {
      await pauseFor(LOOK_MS);
      if (!mine.paused) left -= LOOK_MS;
    }
    return mine.hurry;
  }

  /** Ends the story, and what it did to the line with it. */
  async function stop({ mend = true } = {}) {
    if (run === null) return;
    const hadFocus = bar.contains(document.activeElement);
    run = null;
    bar.hidden = true;
    point(null);
    if (hadFocus) start.focus();
    if (mend) await faults.set(FAULT, false);
  }

  /** A person who uses anything but the story's own buttons, or the languages, takes over. Scripted clicks do not. */
  function takeOver({ type, isTrusted, target, key }) {
    if (run === null || !isTrusted) return;
    if (type === 'keydown' ? key !== 'Escape' : !target.closest('button, input, label, a, summary')) return;
    if (type === 'click' && (bar.contains(target) || start.contains(target) || part('languages').contains(target))) return;
    stop();
  }

  function point(spot) {
    document.querySelector('[data-spot]')?.removeAttribute('data-spot');
    if (spot === null) return;
    const target = part(spot);
    target.setAttribute('data-spot', '');
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    target.scrollIntoView({ block: 'nearest', behavior: still ? 'auto' : 'smooth' });
  }

  function render() {
    write(start.lastElementChild, say('story.start'));
    if (run === null) return;
    const over = ['done', 'stuck'].includes(run.phase);
    write(part('story-step'), say('story.step', { n: run.step + 1, of: steps.length }));
    write(caption, words());
    write(pause, say(run.paused ? 'story.continue' : 'story.pause'));
    write(stopButton, say(over ? 'story.close' : 'story.stop'));
    const inBar = bar.contains(document.activeElement);
    pause.hidden = next.hidden = over;
    if (over && inBar) stopButton.focus();
    bar.style.setProperty('--progress', (run.step + 1) / steps.length);
  }

  function words() {
    if (run.phase !== 'done') return run.phase ? say(`story.${run.phase}`) : '';
    const charged = charges(checkout.order());
    const told = say('story.done', { n: checkout.snapshot()?.attemptCount ?? 0, charges: `${charged} ${sayCount('charge', charged)}` });
    return charged === 1 ? told : say('story.broken', { n: charged });
  }

  function save({ step, paused, order }) {
    remember(STORY, JSON.stringify({ step, paused, order }), forThisTab);
  }

  /** Plays on where the page before this one was reloaded by the story. */
  function goOn() {
    const saved = JSON.parse(recall(STORY, forThisTab));
    remember(STORY, null, forThisTab);
    if (saved?.order !== checkout.order().id) return;
    run = { ...saved, step: saved.step + 1, hurry: false };
    play(run);
  }

  return { goOn, render };
}

function pauseFor(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
