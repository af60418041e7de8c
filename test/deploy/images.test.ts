/** The lock of base images: container files that agree with it, digests from a registry, and a complete release. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { problemsOf, withImages } from '../../scripts/images/lock.ts';
import type { ImageLock } from '../../scripts/images/lock.ts';
import { resolveDigest } from '../../scripts/images/registry.ts';

const MANIFEST = '{"schemaVersion":2}';
const MANIFEST_DIGEST = `sha256:${createHash('sha256').update(MANIFEST).digest('hex')}`;
const OTHER_DIGEST = `sha256:${'0'.repeat(64)}`;

describe('deploy/docker/images.lock.json', () => {
  let lock: ImageLock;
  let files: readonly string[];
  before(async () => {
    lock = JSON.parse(await readFile(packageFile('deploy/docker/images.lock.json'), 'utf8')) as ImageLock;
    files = await Promise.all(['Dockerfile', 'docker-compose.yml'].map((name) => readFile(packageFile(name), 'utf8')));
  });

  const filled = (): ImageLock =>
    Object.fromEntries(Object.entries(lock).map(([name, { image }]) => [name, { image, digest: MANIFEST_DIGEST }]));
  const emptied = (): ImageLock =>
    Object.fromEntries(Object.entries(lock).map(([name, { image }]) => [name, { image, digest: null }]));

  it('lists every base image of the container files, and matches them', () => {
    assert.deepEqual(problemsOf(lock, files, false), []);
  });

  it('may have no digests between releases, but has all of them in a release', () => {
    const ofEmptied = files.map((text) => withImages(text, emptied()));

    assert.deepEqual(problemsOf(emptied(), ofEmptied, false), []);
    assert.equal(problemsOf(emptied(), ofEmptied, true).length, Object.keys(lock).length);
  });

  it('is complete once it is filled, and the container files then name the digests', () => {
    const changed = files.map((text) => withImages(text, filled()));

    assert.deepEqual(problemsOf(filled(), changed, true), []);
    assert.equal(problemsOf(filled(), files, true).length > 0, true);
    for (const { image } of Object.values(lock)) {
      assert.ok(changed.some((text) => text.includes(`${image}@${MANIFEST_DIGEST}`)));
    }
  });

  it('rejects an image of the files that it does not list, and an invalid digest', () => {
    const { NODE_IMAGE: first, ...others } = lock;
    assert.ok(first !== undefined);

    assert.match(problemsOf(others, files, false).join('\n'), /NODE_IMAGE: it is not in the lock/);
    const wrong = { ...lock, NODE_IMAGE: { ...first, digest: 'sha256:short' } };
    assert.match(problemsOf(wrong, files, false).join('\n'), /sha256:short is no digest/);
  });
});

describe('the digest behind a tag', () => {
  let server: Server;
  let registry: string;
  before(async () => {
    server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', registry);
      const isAllowed = request.headers.authorization === 'Bearer a-token';
      if (url.pathname === '/token') {
        const isRight = url.searchParams.get('scope') === 'repository:library/private:pull';
        response.end(JSON.stringify(isRight ? { token: 'a-token' } : {}));
      } else if (url.pathname === '/v2/library/private/manifests/1' && !isAllowed) {
        const scope = 'repository:library/private:pull';
        response.setHeader('WWW-Authenticate', `Bearer realm="${registry}/token",service="test",scope="${scope}"`);
        response.writeHead(401).end();
      } else if (/^\/v2\/(library\/\w+|somebody\/image)\/manifests\/1$/.test(url.pathname)) {
        assert.match(request.headers.accept ?? '', /image\.index/);
        const digest = url.pathname.includes('lying') ? OTHER_DIGEST : MANIFEST_DIGEST;
        response.setHeader('Docker-Content-Digest', digest).end(MANIFEST);
      } else {
        response.writeHead(404).end();
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
  });

  it('is that of the manifest, for official images and those of others', async () => {
    assert.equal(await resolveDigest(registry, 'node:1'), MANIFEST_DIGEST);
    assert.equal(await resolveDigest(registry, 'somebody/image:1'), MANIFEST_DIGEST);
  });

  it('is requested with a token when the registry requires one', async () => {
    assert.equal(await resolveDigest(registry, 'private:1'), MANIFEST_DIGEST);
  });

  it('is rejected when the registry returns another manifest, or none', async () => {
    await assert.rejects(resolveDigest(registry, 'lying:1'), /the registry reports sha256:0+, and its manifest has/);
    await assert.rejects(resolveDigest(registry, 'node:2'), /the registry answers 404/);
    await assert.rejects(resolveDigest(registry, 'node'), /no name with a tag/);
  });
});
