/**
 * The dialog of the generator's search calls itself a button, and its results are links inside options: neither is
 * announced as what it is. Its component has no setting for that, so its template is changed here, until a release of
 * the generator changes it. A replacement that finds nothing fails the build.
 */
import type { Plugin } from 'vite';

const COMPONENT = /\/VPLocalSearchBox\.vue$/;

const REPLACEMENTS: readonly (readonly [found: string, replacement: string])[] = [
  [
    `role="button"
      :aria-owns="results?.length ? 'localsearch-list' : undefined"
      aria-expanded="true"
      aria-haspopup="listbox"`,
    `role="dialog"
      aria-modal="true"`,
  ],
  [
    `aria-autocomplete="both"`,
    `aria-autocomplete="list"
            role="combobox"
            :aria-expanded="results?.length ? 'true' : 'false'"`,
  ],
  [
    `:id="'localsearch-item-' + index"
            :aria-selected="selectedIndex === index ? 'true' : 'false'"
            role="option"
          >`,
    `role="presentation"
          >`,
  ],
  [
    `class="result"
`,
    `class="result"
              role="option"
              :id="'localsearch-item-' + index"
              :aria-selected="selectedIndex === index ? 'true' : 'false'"
`,
  ],
  // A key without a role has no label.
  [`<kbd :aria-label`, `<kbd role="img" :aria-label`],
];

export function accessibleSearch(): Plugin {
  return {
    name: 'accessible-search',
    enforce: 'pre',
    transform: {
      filter: { id: COMPONENT },
      handler(template) {
        let changed = template;
        for (const [found, replacement] of REPLACEMENTS) {
          if (!changed.includes(found)) throw new Error(`The search of the generator has changed: no ${found}`);
          changed = changed.replaceAll(found, replacement);
        }
        return { code: changed, map: null };
      },
    },
  };
}
