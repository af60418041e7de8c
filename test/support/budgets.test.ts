/** Every directory of tests has a budget, so that a new one cannot take any time it likes without being noticed. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { TEST_BUDGET_SECONDS } from './budgets.ts';
import { groupOf } from './file-durations.ts';

/** Groups of which no run of the tests shows the time: each of their files has a limit of its own. */
const WITHOUT_BUDGET = ['wide', 'containers'];

it('every directory with tests has a budget, and every budget a directory', async () => {
  const packages = await readdir(packageFile('packages'), { withFileTypes: true });
  const inPackages = packages.filter((entry) => entry.isDirectory()).map(({ name }) => `packages/${name}/test`);
  const directories = ['test', ...inPackages].filter((directory) => existsSync(packageFile(directory)));
  const groups = new Set<string>();
  for (const directory of directories) {
    const files = await readdir(packageFile(directory), { recursive: true });
    for (const file of files.filter((name) => name.endsWith('.test.ts'))) groups.add(groupOf(`${directory}/${file}`));
  }
  for (const name of WITHOUT_BUDGET) groups.delete(name);
  assert.deepEqual(Object.keys(TEST_BUDGET_SECONDS).sort(), [...groups].sort());
});
