import { element, part, write } from './dom.js';
import { say } from './words.js';

/** A browser that lets a page close itself has done it by then. */
const CLOSED_MS = 150;

const acts = {
  'second-tab': () => open(location.href, '_blank', 'noopener'),
  reload: () => location.reload(),
  // No page can crash itself. It closes where the browser allows that, which is where it has nowhere to go back to.
  kill() {
    if (history.length === 1) close();
    setTimeout(() => location.assign('gone.html'), CLOSED_MS);
  },
};

/** What a person can do to this tab, and whether the browser thinks that it is online. */
export function createTabs() {
  part('acts').append(
    ...Object.entries(acts).map(([name, act]) => {
      const button = element('button', { type: 'button', data: { test: `act-${name}`, say: `act.${name}` } });
      button.addEventListener('click', act);
      return button;
    }),
  );
  return {
    render() {
      write(part('connection'), `${say(navigator.onLine ? 'online' : 'offline')} ${say('offline.how')} ${say('kill.how')}`);
    },
  };
}
