/** What is installed is what was tested: npm verifies each package against its hash in package-lock.json. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';

interface Entry {
  readonly version: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/**
 * Builds for platforms that the images do not use, and that the registry did not have when the lock file was created.
 * This number only ever goes down: `node scripts/lock-integrity.mjs` adds what a registry knows.
 */
const WITHOUT_HASH_AT_MOST = 30;

async function readPackages(): Promise<readonly (Entry & { place: string })[]> {
  const lock = JSON.parse(await readFile(packageFile('package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Entry>>;
  };
  return Object.entries(lock.packages)
    .filter(([place, { link }]) => place.includes('node_modules/') && link !== true)
    .map(([place, entry]) => ({ place, ...entry }));
}

/** Whether it can be installed where the images run: Linux with glibc on x64 or arm64. */
function isForImages({ place, os, cpu, libc }: Entry & { place: string }): boolean {
  return (
    (os?.includes('linux') ?? true) &&
    (cpu?.some((name) => name === 'x64' || name === 'arm64') ?? true) &&
    (libc?.includes('glibc') ?? true) &&
    !place.endsWith('-musl')
  );
}

describe('package-lock.json', () => {
  it('has a SHA-512 of every package that an image can install', async () => {
    const packages = (await readPackages()).filter(isForImages);

    assert.ok(packages.length > 600);
    assert.deepEqual(
      packages.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? '')).map(({ place }) => place),
      [],
    );
  });

  it('has no hash only for optional builds of other platforms, and for no more than were known', async () => {
    const without = (await readPackages()).filter(({ integrity }) => integrity === undefined);

    assert.deepEqual(
      without.filter((entry) => entry.optional !== true || isForImages(entry)).map(({ place }) => place),
      [],
    );
    assert.ok(without.length <= WITHOUT_HASH_AT_MOST, `${without.length} packages have no hash`);
  });

  it('names no host that a package would be downloaded from', async () => {
    assert.deepEqual(
      (await readPackages()).filter(({ resolved }) => resolved !== undefined).map(({ place }) => place),
      [],
    );
  });
});
