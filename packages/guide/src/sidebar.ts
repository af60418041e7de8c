/** The sidebar: the headings of docs/README.md, and below each the pages that its list links to. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { DefaultTheme } from 'vitepress';
import { INDEX, REPOSITORY, resolveLink } from './documents.ts';

/** So many that the group is closed at first. */
const MANY = 20;

export function sidebar(): DefaultTheme.SidebarItem[] {
  const text = read(INDEX);
  const groups: { text: string; items: DefaultTheme.SidebarItem[] }[] = [];
  for (const line of text.split('\n')) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) groups.push({ text: heading, items: [] });
    for (const [, title = '', href = ''] of line.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)) {
      const target = resolveLink(INDEX, href);
      const items = groups.at(-1)?.items;
      if (items === undefined || target.kind !== 'page') continue;
      if (items.every(({ link }) => link !== target.address)) {
        items.push({ text: title.endsWith('.md') ? headingOf(title) : title, link: target.address });
      }
    }
  }
  return groups.map((group) => ({ ...group, collapsed: group.items.length > MANY }));
}

/** Of a document in the root of the repository, which is linked to by its name. */
function headingOf(document: string): string {
  return /^# (.+)$/m.exec(read(document))?.[1] ?? document;
}

function read(document: string): string {
  return readFileSync(path.join(REPOSITORY, document), 'utf8');
}
