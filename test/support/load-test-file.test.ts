import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, it } from 'node:test';
import { packageModule } from '../../src/config/package-root.ts';

const run = promisify(execFile);

describe('test files that share a process', () => {
  it('have their own suites, although a module that they share awaits at its top level', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-shared-'));
    try {
      const write = (name: string, lines: readonly string[]) =>
        writeFile(path.join(directory, name), `${lines.join('\n')}\n`);
      await write('slow.mjs', ['await new Promise((resolve) => setTimeout(resolve, 50));']);
      const names = ['a', 'b', 'c'];
      for (const name of names) {
        await write(`${name}.mjs`, [
          `import './slow.mjs';`,
          `import { describe, it } from 'node:test';`,
          `describe('part of ${name}', () => void it('runs', () => {}));`,
        ]);
      }
      await write('all.mjs', [
        `import { suite } from 'node:test';`,
        `import { loadTestFile } from '${pathToFileURL(packageModule('test/support/load-test-file.ts')).href}';`,
        ...names.map((name) => `suite('${name}', () => loadTestFile(new URL('./${name}.mjs', import.meta.url).href));`),
      ]);
      // The tests of this run are not theirs: with this variable they would report to it.
      const { NODE_TEST_CONTEXT: _context, ...environment } = process.env;

      const all = path.join(directory, 'all.mjs');
      const { stdout } = await run(process.execPath, ['--test-reporter=tap', all], { env: environment });

      const suites = stdout.split('\n').filter((line) => line.includes('Subtest:') && !line.includes('runs'));
      assert.deepEqual(
        suites,
        names.flatMap((name) => [`# Subtest: ${name}`, `    # Subtest: part of ${name}`]),
      );
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
