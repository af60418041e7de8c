/** NOTICE.md names every package of the installation whose license requires more than keeping its text. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';

/** Licenses that require keeping their text, which each package contains. */
const PERMISSIVE = /^(MIT|MIT-0|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0|BlueOak-1\.0\.0|Unlicense|CC0-1\.0|Python-2\.0)$/;

interface LockEntry {
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

const { packages } = JSON.parse(readFileSync(packageFile('package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockEntry>>;
};

/** `(A OR B)` may be used under either, `A AND B` requires both. */
function isPermissive(license: string): boolean {
  const plain = license.replace(/^\((.*)\)$/, '$1');
  if (plain.includes(' OR ')) return plain.split(' OR ').some(isPermissive);
  return plain.split(' AND ').every((each) => PERMISSIVE.test(each));
}

describe('NOTICE.md', () => {
  it('names the packages whose license requires attribution', () => {
    const notice = readFileSync(packageFile('NOTICE.md'), 'utf8');
    const named = [...notice.matchAll(/`(@?[\w./*-]+)`|\*\*([\w-]+)\*\*/g)].map(([, code, bold]) => code ?? bold ?? '');
    const isNamed = (name: string): boolean =>
      named.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : each === name));

    const demanding = Object.entries(packages)
      .filter(([directory, { dev, link }]) => directory.includes('node_modules/') && dev !== true && link !== true)
      .map(([directory, { license }]) => ({ name: directory.split('node_modules/').at(-1) ?? '', license }))
      .filter(({ license }) => license !== undefined && !isPermissive(license));

    assert.ok(demanding.length > 5, 'too few were found to say anything');
    assert.deepEqual(
      demanding.filter(({ name }) => !isNamed(name)),
      [],
    );
  });
});
