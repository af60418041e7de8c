/**
 * The rule that enforces the order of the modules (scripts/lint/modules.mjs), run by the linter on small trees of
 * files.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';

describe('the order of modules', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-lint-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  /** @returns what the linter reports of each file, which is created with one line. */
  async function lint(lines: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    const root = await mkdtemp(path.join(directory, 'tree-'));
    const config = { jsPlugins: [packageFile('scripts/lint/plugin.mjs')], rules: { 'darkroom/module-order': 'error' } };
    await writeFile(path.join(root, '.oxlintrc.json'), JSON.stringify(config));
    for (const [file, line] of Object.entries(lines)) {
      await mkdir(path.dirname(path.join(root, file)), { recursive: true });
      await writeFile(path.join(root, file), `${line}\n`);
    }
    const output = await new Promise<string>((resolve) => {
      const binary = packageFile('node_modules/oxlint/bin/oxlint');
      execFile(process.execPath, [binary, '--format=json'], { cwd: root }, (_error, stdout) => resolve(stdout));
    });
    const { diagnostics } = JSON.parse(output) as {
      readonly diagnostics: readonly { readonly filename: string; readonly code: string; readonly message: string }[];
    };
    return Object.fromEntries(
      diagnostics
        .filter(({ code }) => code.includes('module-order'))
        .map(({ filename, message }) => [filename.split(path.sep).join('/'), message]),
    );
  }

  it('rejects an import from a module that comes later, in every form of an import', async () => {
    const problem = 'src/http comes after src/domain (scripts/lint/modules.mjs)';

    assert.deepEqual(
      await lint({
        'src/domain/named.ts': `import { a } from '../http/a.ts'; a();`,
        'src/domain/type.ts': `import type { A } from '../http/a.ts'; export type B = A;`,
        'src/domain/inline.ts': `export type B = import('../http/a.ts').A;`,
        'src/domain/again.ts': `export { a } from '../http/a.ts';`,
        'src/domain/all.ts': `export * from '../http/a.ts';`,
        'src/domain/late.ts': `export const late = () => import('../http/a.ts');`,
        'src/domain/deep/down.ts': `import '../../http/a.ts';`,
      }),
      Object.fromEntries(
        ['named', 'type', 'inline', 'again', 'all', 'late', 'deep/down'].map((name) => [
          `src/domain/${name}.ts`,
          problem,
        ]),
      ),
    );
  });

  it('allows an import from an earlier module, from the own one, and of a package', async () => {
    assert.deepEqual(
      await lint({
        'src/http/a.ts': `import '../domain/a.ts';`,
        'src/http/b.ts': `import './a.ts';`,
        'src/http/c.ts': `import 'koa';`,
        'src/context.ts': `import './processes/a.ts';`,
        'test/a.ts': `import '../src/main.ts';`,
      }),
      {},
    );
  });

  it('keeps Temporal out of what activities do', async () => {
    assert.deepEqual(
      await lint({
        'activities/a.ts': `import '@temporalio/activity';`,
        'src/generation/a.ts': `import '@temporalio/activity';`,
      }),
      { 'src/generation/a.ts': 'activities connect this module to Temporal (scripts/lint/modules.mjs)' },
    );
  });

  it('lets a package be imported by its name only, and lets it import only packages', async () => {
    assert.deepEqual(
      await lint({
        'src/domain/named.ts': `import '@darkroom/media/decode';`,
        'src/domain/inside.ts': `import '../../packages/media/src/decode.ts';`,
        'packages/media/src/up.ts': `import '../../../src/domain/a.ts';`,
        'packages/media/src/beside.ts': `import './decode.ts';`,
        'packages/media/test/a.test.ts': `import '../src/decode.ts';`,
        'packages/media/test/helper.test.ts': `import '../../../test/support/services.ts';`,
      }),
      {
        'src/domain/inside.ts': 'packages/media is imported as @darkroom/media (scripts/lint/modules.mjs)',
        'packages/media/src/up.ts': 'packages/media imports only packages (scripts/lint/modules.mjs)',
        'packages/media/test/helper.test.ts': 'packages/media imports only packages (scripts/lint/modules.mjs)',
      },
    );
  });

  it('orders what the module of tasks consists of', async () => {
    assert.deepEqual(
      await lint({
        'src/tasks/create/a.ts': `import '../record/a.ts';`,
        'src/tasks/record/a.ts': `import '../create/a.ts';`,
      }),
      { 'src/tasks/record/a.ts': 'src/tasks/create comes after src/tasks/record (scripts/lint/modules.mjs)' },
    );
  });

  it('keeps the package of the tests out of every program', async () => {
    const problem = 'only tests import from @darkroom/testing (scripts/lint/modules.mjs)';

    assert.deepEqual(
      await lint({
        'src/text/a.ts': `import '@darkroom/testing/wait-for';`,
        'packages/media/src/a.ts': `import '@darkroom/testing/wait-for';`,
        'packages/media/test/a.test.ts': `import '@darkroom/testing/wait-for';`,
        'test/a.test.ts': `import '@darkroom/testing/wait-for';`,
      }),
      { 'src/text/a.ts': problem, 'packages/media/src/a.ts': problem },
    );
  });

  it('rejects an earlier module that is not allowed for a module', async () => {
    assert.deepEqual(
      await lint({
        'workflows/a.ts': `import type { A } from '@darkroom/api/facts/a'; export type B = A;`,
        'workflows/b.ts': `import { a } from '../src/domain/a.ts'; a();`,
        'src/temporal/a.ts': `import type { A } from '../../workflows/a.ts'; export type B = A;`,
        'src/temporal/b.ts': `import { a } from '../../workflows/a.ts'; a();`,
        'src/tasks/record/a.ts': `import type { A } from '../../../workflows/a.ts'; export type B = A;`,
        'packages/mcp/src/a.ts': `import '@darkroom/cli/a';`,
        'packages/cli/src/a.ts': `import '@darkroom/media/decode'; import '@darkroom/mcp/stdio';`,
        'packages/dashboard/src/a.ts': `import '@darkroom/mcp/stdio';`,
        'packages/dashboard/src/b.ts': `import '@darkroom/api/tasks/a';`,
        'src/http/c.ts': `import '@darkroom/cli/program';`,
        'src/http/a.ts': `import '../../activities/a.ts';`,
        'src/http/b.ts': `import '@darkroom/mcp/server';`,
        'src/http/routes/mcp.ts': `import '@darkroom/mcp/server';`,
      }),
      {
        'workflows/a.ts': 'workflows does not import from packages/api (scripts/lint/modules.mjs)',
        'src/temporal/b.ts': 'only types are imported from workflows (scripts/lint/modules.mjs)',
        'src/tasks/record/a.ts':
          'only activities and src/generation and src/processes and src/temporal import from workflows (scripts/lint/modules.mjs)',
        'packages/mcp/src/a.ts': 'packages/cli comes after packages/mcp (scripts/lint/modules.mjs)',
        'packages/cli/src/a.ts': 'packages/cli does not import from packages/media (scripts/lint/modules.mjs)',
        'packages/dashboard/src/a.ts':
          'packages/dashboard does not import from packages/mcp (scripts/lint/modules.mjs)',
        'src/http/c.ts': 'nothing imports from packages/cli (scripts/lint/modules.mjs)',
        'src/http/a.ts': 'only src/processes and src/context.ts import from activities (scripts/lint/modules.mjs)',
        'src/http/b.ts':
          'only src/http/routes/mcp.ts and packages/cli import from packages/mcp (scripts/lint/modules.mjs)',
      },
    );
  });
});
