/** The software bill of materials: `npm run sbom` lists every package that production can install. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packageFile } from '../../src/config/package-root.ts';

interface Component {
  readonly group?: string;
  readonly name: string;
  readonly version?: string;
  readonly licenses?: readonly unknown[];
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
}

/** Their package.json names none; both contain the text, of a BSD licence and of the Unlicense. */
const WITHOUT_A_NAMED_LICENCE = ['@shinyoshiaki/jspack', 'unionfs'];

describe('npm run sbom', () => {
  it('lists every production package with its version, and its licence where the lock file has one', async () => {
    const { packages } = JSON.parse(await readFile(packageFile('package-lock.json'), 'utf8')) as {
      packages: Record<string, LockedPackage>;
    };
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
      cwd: packageFile('.'),
      maxBuffer: 64 * 1024 * 1024,
    });
    const { components } = JSON.parse(stdout) as { components: readonly Component[] };

    const listed = new Map(
      components.map((component) => {
        const name = component.group === undefined ? component.name : `${component.group}/${component.name}`;
        return [`${name}@${component.version}`, component];
      }),
    );
    let count = 0;
    for (const [place, locked] of Object.entries(packages)) {
      const { version, license, dev, devOptional, link } = locked;
      if (!place.includes('node_modules/') || dev === true || devOptional === true || link === true) continue;
      const name = place.split('node_modules/').at(-1) ?? '';
      const component = listed.get(`${name}@${version}`);
      assert.ok(component !== undefined, `${name}@${version} is not listed`);
      if (license !== undefined) assert.ok((component.licenses ?? []).length > 0, `${name} has no licence`);
      else assert.ok(WITHOUT_A_NAMED_LICENCE.includes(name) || /-(?:android|darwin|linux|win32)-/.test(name), name);
      count++;
    }
    assert.ok(count > 300, `${count} packages`);
  });
});
