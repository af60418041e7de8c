/** Which files are pages, where links of documents lead, and what the sidebar lists. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { PAGES, REPOSITORY, excludedFiles, resolveLink } from '../src/documents.ts';
import { sidebar } from '../src/sidebar.ts';

describe('a page', () => {
  it('is every document, at an address of its own', () => {
    assert.equal(PAGES['docs/README.md'], 'index.md');
    assert.equal(PAGES['docs/operations/runbook.md'], 'operations/runbook.md');
    assert.equal(PAGES['packages/cli/README.md'], 'command-line.md');
    assert.equal(new Set(Object.values(PAGES)).size, Object.keys(PAGES).length);
    for (const file of Object.keys(PAGES)) assert.ok(existsSync(path.join(REPOSITORY, file)), file);
  });

  it('is not excluded from the search for pages, and everything beside it is', () => {
    const excluded = excludedFiles();

    assert.ok(excluded.includes('src/**') && excluded.includes('README.md') && excluded.includes('packages/api/**'));
    for (const file of Object.keys(PAGES)) {
      assert.ok(!excluded.some((other) => other === file || file.startsWith(other.replace('**', ' '))), file);
    }
  });
});

describe('a link of a document', () => {
  it('leads to the page of another, to a screenshot, or to nothing', () => {
    assert.deepEqual(resolveLink('docs/operations/install.md', '../contract.md'), {
      kind: 'page',
      address: '/contract',
    });
    assert.deepEqual(resolveLink('CONTRIBUTING.md', 'docs/README.md'), { kind: 'page', address: '/' });
    assert.deepEqual(resolveLink('docs/dashboard.md', 'screenshots/overview-light.webp'), {
      kind: 'screenshot',
      address: '/screenshots/overview-light.webp',
    });
    assert.deepEqual(resolveLink('docs/README.md', 'nowhere.md'), { kind: 'nothing' });
    assert.deepEqual(resolveLink('docs/README.md', '/docs/contract.md'), { kind: 'nothing' });
  });

  it('names a file that is no page', () => {
    assert.deepEqual(resolveLink('docs/operations/install.md', '../../.env.example'), {
      kind: 'file',
      file: '.env.example',
    });
  });
});

describe('the sidebar', () => {
  it('has the headings of the list of documents, and every page once below one of them', () => {
    const groups = sidebar();

    assert.ok(groups.length > 1);
    for (const { text, items = [] } of groups) {
      const links = items.map(({ link }) => link);
      assert.ok(links.length > 0, text);
      assert.equal(new Set(links).size, links.length, text);
    }
    const linked = groups.flatMap(({ items = [] }) => items.map(({ link }) => link));
    const addresses = Object.values(PAGES).map((page) => `/${page.replace(/(?:index)?\.md$/, '')}`);
    assert.deepEqual(
      addresses.filter((address) => address !== '/' && !linked.includes(address)),
      [],
    );
  });
});
