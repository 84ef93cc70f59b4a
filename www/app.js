import { apiOrigin, controlDesk } from './api.js';
import { createCheckout, renderCart } from './checkout.js';
import { createServerView, watchServer } from './control-room.js';
import { part, translate } from './dom.js';
import { createFaults } from './faults.js';
import { createLine } from './line.js';
import { openPayments } from './payments.js';
import { createStory } from './story.js';
import { createTabs } from './tabs.js';
import { createTimeline } from './timeline.js';
import { noteVisit } from './visits.js';
import { language, languages, say, speak } from './words.js';

const TICK_MS = 250;

noteVisit();
const server = createServerView();
const timeline = createTimeline();
const tabs = createTabs();
const line = createLine();
const [api, refusal] = readAddress();
const desk = controlDesk(api);
const faults = createFaults({ desk, line, trouble: server.trouble, changed: render });
const checkout = createCheckout({ faults, isOnline: () => navigator.onLine && !line.isCut(), orderChanged: render });
const story = createStory({ checkout, faults, charges: server.charges });
let payments = null;

setUpLanguages();
if (refusal) checkout.fail(refusal);
else await start();

async function start() {
  watchServer(desk, { before: line.look, state: renderServer, faults: faults.show, trouble: server.trouble });
  try {
    payments = await openPayments(api, render);
    checkout.open(payments);
  } catch (error) {
    checkout.fail(error);
    return;
  }
  render();
  story.goOn();
  addEventListener('online', render);
  addEventListener('offline', render);
  setInterval(() => {
    checkout.render();
    timeline.tick();
  }, TICK_MS);
}

function readAddress() {
  try {
    return [apiOrigin(location), null];
  } catch (error) {
    return [null, error];
  }
}

function render() {
  checkout.render();
  tabs.render();
  timeline.show(payments?.all() ?? [], checkout.order());
  renderServer(null);
}

function renderServer(state) {
  server.show(state, checkout.order(), checkout.snapshot()?.keyHash ?? null);
}

function setUpLanguages() {
  for (const code of languages) {
    part(`language-${code}`).addEventListener('click', async () => {
      await speak(code);
      showLanguage();
    });
  }
  showLanguage();
}

function showLanguage() {
  document.documentElement.lang = language() === 'pt' ? 'pt-BR' : language();
  document.title = `${say('title')} · intento`;
  part('languages').setAttribute('aria-label', say('language'));
  for (const code of languages) part(`language-${code}`).setAttribute('aria-pressed', String(code === language()));
  translate(document);
  renderCart();
  story.render();
  render();
}
