/** How the Markdown of a document becomes a page, beyond what the generator does by itself. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { createMarkdownRenderer } from 'vitepress';
import type { MarkdownRenderer } from 'vitepress';
import { REPOSITORY } from '../src/documents.ts';
import { emptyHeaders } from '../src/empty-headers.ts';
import { repositoryLinks } from '../src/repository-links.ts';
import { strictPolicy } from '../src/strict-policy.ts';

let markdown: MarkdownRenderer;
before(async () => {
  markdown = await createMarkdownRenderer(path.join(REPOSITORY, 'docs'), {
    config(created) {
      repositoryLinks(created, '/guide/');
      emptyHeaders(created);
    },
  });
});

function render(text: string): Promise<string> {
  return markdown.renderAsync(text, { path: path.join(REPOSITORY, 'docs/README.md') });
}

describe('a link', () => {
  it('leads to the page of a document, and keeps its fragment', async () => {
    assert.match(await render('[the contract](contract.md#tasks)'), /href="\/contract(?:\.html)?#tasks"/);
  });

  it('to a file that is no page becomes the name of that file', async () => {
    const page = await render('See [the settings](../.env.example).');

    assert.match(page, /See the settings \(<code[^>]*>\.env\.example<\/code>\)\./);
    assert.doesNotMatch(page, /href/);
  });

  it('to a page that does not exist fails the build', async () => {
    await assert.rejects(() => render('[gone](gone.md)'), /docs\/README\.md: there is no gone\.md/);
  });
});

describe('a table', () => {
  it('has no header without text', async () => {
    const page = await render('| | b |\n| --- | --- |\n| c | d |\n');

    assert.match(page, /<td[^>]*><\/td>\s*<th[^>]*>b<\/th>/);
  });
});

describe('what the generator writes into a page', () => {
  it('is moved to files', () => {
    const policy = strictPolicy('/guide/');

    const page = policy.transformPage(
      '<html><head><script id="check-dark-mode">dark()</script></head><body style="position:relative;"></body></html>',
    );

    assert.doesNotMatch(page, /dark\(\)|style=/);
    assert.match(page, /<script src="\/guide\/assets\/appearance\.[\w-]{8}\.js"><\/script>/);
    assert.match(page, /<link rel="stylesheet" href="\/guide\/assets\/code\.[\w-]{8}\.css">/);
  });
});
