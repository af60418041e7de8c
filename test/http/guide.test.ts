/**
 * The guide at `/guide/` as the build wrote it: every page, what pages consist of, and where their links lead. How it
 * behaves in a browser is in test/web/guide.test.ts.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { createGuide } from '../../src/http/routes/guide.ts';
import { errorOf, raw } from './raw-request.ts';
import type { RawAnswer } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

/** An attribute that names a file or a page, with the element that has it. */
const ADDRESS = /<(\w+)\b[^<>]*?\s(?:href|src)="([^"]*)"/g;
const NEVER = ['../index', '..%2findex.html', '%2e%2e/', '%2e%2e%2f%2e%2e%2fpackage.json', '__proto__', 'constructor'];

let served: ServedApp;
/** Every page, by its path. */
const pages = new Map<string, RawAnswer>();
before(async () => {
  served = await serveApp();
  const hashes = await raw(served.url, 'GET', '/guide/hashmap.json');
  assert.equal(hashes.status, 200, hashes.text);
  for (const name of Object.keys(JSON.parse(hashes.text) as object)) {
    const path = name
      .replace(/\.md$/, '')
      .replaceAll('_', '/')
      .replace(/^index$/, '');
    pages.set(`/guide/${path}`, await raw(served.url, 'GET', `/guide/${path}`));
  }
});
after(() => served.close());

/** What the page names, with the path it leads to. */
function addressesOf(path: string, { text }: RawAnswer): { element: string; address: URL; written: string }[] {
  return [...text.matchAll(ADDRESS)].map(([, element = '', written = '']) => ({
    element,
    written,
    address: new URL(written.replaceAll('&amp;', '&'), new URL(path, served.url)),
  }));
}

const headersOf = ({ headers }: RawAnswer, ...names: string[]): unknown[] => names.map((name) => headers[name]);

describe('the guide', () => {
  // Proves C0-13.
  it('has a page for every document, each with a title of its own', async () => {
    const documents = await readdir(packageFile('docs'), { recursive: true });
    const expected = documents
      .filter((name) => name.endsWith('.md'))
      .map((name) => `/guide/${name.replace(/(?:^README)?\.md$/, '')}`);

    assert.deepEqual(
      [...pages.keys()].toSorted(),
      [...expected, '/guide/contributing', '/guide/security', '/guide/command-line'].toSorted(),
    );
    const titles = [...pages].map(([path, page]) => {
      assert.equal(page.status, 200, path);
      assert.match(String(page.headers['content-type']), /^text\/html/, path);
      assert.match(page.text, /<h1 /, path);
      return /<title>([^<]+) · Darkroom<\/title>/.exec(page.text)?.[1];
    });
    assert.equal(new Set(titles).size, pages.size);
    assert.ok(!titles.includes(undefined));
  });

  it('starts with and without the slash at the end, whatever the query', async () => {
    for (const path of ['/guide', '/guide/', '/guide/?from=mail']) {
      const answer = await raw(served.url, 'GET', path);
      assert.deepEqual([answer.status, answer.text], [200, pages.get('/guide/')?.text], path);
      assert.equal((await raw(served.url, 'HEAD', path)).status, 200, path);
      const other = await raw(served.url, 'POST', path);
      assert.deepEqual([other.status, ...headersOf(other, 'allow')], [405, 'GET, HEAD, OPTIONS'], path);
    }
  });

  it('allows scripts and styles from files of this service alone, and has none inline', () => {
    for (const [path, page] of pages) {
      const policy = String(page.headers['content-security-policy']);
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'$/, path);
      assert.doesNotMatch(policy, /unsafe|http/, path);
      assert.equal(page.headers['x-frame-options'], 'DENY', path);
      assert.doesNotMatch(page.text, /<script(?![^>]*\ssrc=)|<style|<[^>]+\s(?:on\w+|style)=/i, path);
    }
  });

  it('consists of files of this service alone', async () => {
    const files = new Set<string>();
    for (const [path, page] of pages) {
      for (const { element, address } of addressesOf(path, page)) {
        if (element === 'a') continue;
        assert.equal(address.origin, new URL(served.url).origin, `${path} loads ${address.href}`);
        files.add(address.pathname);
      }
    }
    assert.ok(files.size > pages.size, `${files.size} files`);
    for (const file of files) {
      const answer = await raw(served.url, 'GET', file);
      assert.equal(answer.status, 200, file);
      if (file.endsWith('.css')) assert.doesNotMatch(answer.text, /@import|url\(["']?(?:https?:)?\/\//, file);
    }
  });

  it('has no link that leads nowhere, to a page or to a part of one', async () => {
    const dead: string[] = [];
    const others = new Map<string, number>();
    let count = 0;
    for (const [path, page] of pages) {
      for (const { element, address, written } of addressesOf(path, page)) {
        if (element !== 'a' || address.origin !== new URL(served.url).origin) continue;
        count++;
        const target = pages.get(address.pathname);
        if (target === undefined && !others.has(address.pathname)) {
          others.set(address.pathname, (await raw(served.url, 'GET', address.pathname)).status);
        }
        const id = decodeURIComponent(address.hash.slice(1));
        const isThere = target === undefined ? others.get(address.pathname) === 200 : hasPart(target, id);
        if (!isThere) dead.push(`${path}: ${written}`);
      }
    }
    assert.ok(count > 1_000, `${count} links`);
    assert.deepEqual(dead, []);
  });

  it('names files of the repository that are no pages, and does not link to them', () => {
    assert.match(pages.get('/guide/operations/install')?.text ?? '', /\.env\.example/);
    for (const [path, { text }] of pages) assert.doesNotMatch(text, /href="[^":]*\.(?:md|example)["#]/, path);
  });

  it('brings the index of its search, with every page in it', async () => {
    const names = await readdir(packageFile('dist/guide/assets/chunks'));
    const name = names.find((each) => /^@localSearchIndex.*\.js$/.test(each)) ?? 'none';
    const index = await raw(served.url, 'GET', `/guide/assets/chunks/${name}`);
    assert.equal(index.status, 200);
    for (const path of pages.keys()) {
      assert.ok(index.text.includes(`"/${path.slice('/guide/'.length)}`), path);
    }
  });
});

/** Whether the page has a heading with this id. @param id empty: the page itself. */
function hasPart({ text }: RawAnswer, id: string): boolean {
  return id === '' || text.includes(` id="${id}"`);
}

describe('files of the guide', () => {
  it('are kept by browsers for good where their names contain a hash, and revalidated where they do not', async () => {
    const files = await readdir(packageFile('dist/guide'), { recursive: true, withFileTypes: true });
    const inAssets = files
      .filter((file) => file.isFile() && file.parentPath.includes('assets') && !/\.(?:br|gz)$/.test(file.name))
      .map(({ name }) => name);
    assert.ok(inAssets.length > 100);
    assert.deepEqual(
      inAssets.filter((name) => !/\.[\w-]{8}\.(?:lean\.)?(?:js|css)$/.test(name)),
      [],
    );
    const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(pages.get('/guide/')?.text ?? '') ?? [];
    const caches = [
      ['/guide/', 'public, no-cache'],
      ['/guide/contract', 'public, no-cache'],
      ['/guide/hashmap.json', 'public, no-cache'],
      ['/guide/screenshots/overview-light.webp', 'public, max-age=3600'],
      [script, 'public, max-age=31536000, immutable'],
    ] as const;
    for (const [path, cache] of caches) {
      const first = await raw(served.url, 'GET', path);
      assert.deepEqual([first.status, first.headers['cache-control']], [200, cache], path);
      const again = await raw(served.url, 'GET', path, { 'If-None-Match': String(first.headers['etag']) });
      assert.deepEqual([again.status, again.text], [304, ''], path);
      const head = await raw(served.url, 'HEAD', path);
      assert.deepEqual([head.status, head.text], [200, ''], path);
      const same = ['content-type', 'content-length', 'etag', 'cache-control', 'content-security-policy'];
      assert.deepEqual(headersOf(head, ...same), headersOf(first, ...same), path);
    }
  });

  it('are sent compressed to clients that accept it', async () => {
    const plain = await raw(served.url, 'GET', '/guide/contract');
    for (const encoding of ['br', 'gzip']) {
      const answer = await raw(served.url, 'GET', '/guide/contract', { 'Accept-Encoding': encoding });
      assert.deepEqual(headersOf(answer, 'content-encoding', 'vary'), [encoding, 'Accept-Encoding']);
      assert.ok(Number(answer.headers['content-length']) < Number(plain.headers['content-length']) / 3);
      assert.notEqual(answer.headers['etag'], plain.headers['etag']);
    }
  });

  it('are those of the build and no other, wherever they lie', async () => {
    for (const name of [...NEVER, 'nothing', 'decisions/', 'index.html.br', '404', '404.html', 'assets']) {
      const answer = await raw(served.url, 'GET', `/guide/${name}`);
      assert.deepEqual(errorOf(answer), { status: 404, code: 'NOT_FOUND' }, name);
    }
  });

  it('have a page for browsers in place of one that is missing', async () => {
    const answer = await raw(served.url, 'GET', '/guide/no/such/page', { Accept: 'text/html' });

    assert.equal(answer.status, 404);
    assert.match(String(answer.headers['content-type']), /^text\/html/);
    assert.match(String(answer.headers['content-security-policy']), /script-src 'self'/);
    assert.equal(answer.headers['cache-control'], 'public, no-cache');
  });

  it('are announced as missing where nothing was built', async () => {
    const request = { params: { fileName: 'contract' } };
    for (const route of createGuide(async () => undefined).routes) {
      await assert.rejects(
        async () => route.handle(request as unknown as Parameters<typeof route.handle>[0]),
        /The guide is not built. Run `npm run build`/,
      );
    }
  });
});
