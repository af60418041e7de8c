import { h } from 'vue';
import { withBase } from 'vitepress';
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import './guide.css';

/** Pages of the api that are no pages of this site. */
const ELSEWHERE = [
  { text: 'API reference', href: '/docs' },
  { text: 'Dashboard', href: '/' },
];

/** @param place in the bar, or in the menu that narrow windows have in its stead. */
const elsewhere = (place: 'in-bar' | 'in-menu') =>
  h(
    'div',
    { class: ['elsewhere', place] },
    ELSEWHERE.map(({ text, href }) => h('a', { href, target: '_self' }, text)),
  );

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': () => elsewhere('in-bar'),
      'nav-screen-content-after': () => elsewhere('in-menu'),
      'not-found': () =>
        h('main', { class: 'not-found' }, [
          h('h1', 'Page not found'),
          h('p', 'The guide has no page at this address. It may be in the search, or in the list of all documents.'),
          h('p', [h('a', { href: withBase('/') }, 'All documents')]),
        ]),
    }),
};

export default theme;
