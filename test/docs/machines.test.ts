/** The page that lays an installation out on machines: each layout serves every queue, and its units are valid. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ERROR_KINDS } from '@darkroom/api/facts/error-kinds';
import { packageFile } from '../../src/config/package-root.ts';
import type { HttpProblem } from '../../src/http/app/errors.ts';
import { textProblemOf } from '../../src/http/app/errors.ts';
import { errorBody } from '../../src/text/encoder.ts';
import { documentedCaddyfile, shippedCaddyfile } from '../deploy/caddy-program.ts';
import { TASK_QUEUES } from '../../src/domain/workflow-ids.ts';

const PAGE = readFileSync(packageFile('docs/operations/scale.md'), 'utf8');
const QUEUES = Object.keys(TASK_QUEUES).toSorted();
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

/** The sections of a page, by their headings. */
function sections(): ReadonlyMap<string, string> {
  return new Map(
    PAGE.split(/^## /m)
      .slice(1)
      .map((section) => {
        const [heading = '', ...lines] = section.split('\n');
        return [heading, lines.join('\n')];
      }),
  );
}

/** The unit files of the page, by the names under which they are installed. */
function units(): ReadonlyMap<string, string> {
  const found = PAGE.matchAll(/^`\/etc\/systemd\/system\/([^`]+)`[^\n]*\n\n```ini\n([\s\S]*?)^```/gm);
  return new Map([...found].map(([, name = '', text = '']) => [name, text]));
}

/** What systemd says of a unit; it says things of the machine's other units too. */
async function complaintsOf(file: string): Promise<readonly string[]> {
  const verified = promisify(execFile)('systemd-analyze', ['verify', '--man=no', file]);
  const { stderr } = await verified.catch((error: { readonly stderr: string }) => error);
  return stderr.split('\n').filter((line) => line.includes(path.basename(file)));
}

describe('the layouts of machines', () => {
  for (const heading of ['Two machines', 'Three machines', 'Five machines']) {
    it(`serve every queue: ${heading.toLowerCase()}`, () => {
      const layout = sections().get(heading) ?? '';
      const named = [...layout.matchAll(/WORKER_QUEUES=([a-z,]+)/g)].flatMap(([, queues = '']) => queues.split(','));

      if (named.length === 0) assert.match(layout, /[Bb]oth workers serve all queues/);
      else assert.deepEqual([...new Set(named)].toSorted(), QUEUES);
    });
  }

  it('explain every queue', () => {
    const rows = [...(sections().get('The parts') ?? '').matchAll(/^\| `([a-z]+)` +\|/gm)].map(([, name = '']) => name);

    assert.deepEqual(rows.filter((name) => name !== 'api' && name !== 'worker').toSorted(), QUEUES);
  });

  it(
    'have an api and a worker as units that systemd accepts',
    { skip: !hasSystemd && 'no systemd-analyze' },
    async () => {
      assert.deepEqual([...units().keys()], ['darkroom-api.service', 'darkroom-worker@.service']);
      const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-units-'));
      try {
        for (const [name, text] of units()) {
          // The program of a unit must exist, and Node may be elsewhere here.
          const unit = text.replace('/usr/bin/node', process.execPath);
          const file = path.join(directory, name.replace('@', '@media'));
          await writeFile(file, unit);
          assert.deepEqual(await complaintsOf(file), [], name);

          await writeFile(file, unit.replace('TimeoutStopSec', 'TimeoutStopSeconds'));
          assert.match((await complaintsOf(file)).join('\n'), /TimeoutStopSeconds/);
        }
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  );
});

describe('the proxies', () => {
  for (const [name, caddyfile] of [
    ['docs/operations/scale.md', documentedCaddyfile],
    ['deploy/docker/caddy/Caddyfile', shippedCaddyfile],
  ] as const) {
    it(`answer with the error of the API where no api does: ${name}`, () => {
      const text = caddyfile('http://example', ['api:8787']);
      const { message, retryAfterSeconds } = ERROR_KINDS.unavailable;
      const problem = { kind: 'unavailable', message, violations: [] } as unknown as HttpProblem;

      const [, body = '', status] = /^\t\trespond `(.*)` (\d+)$/m.exec(text) ?? [];
      assert.deepEqual(JSON.parse(body), errorBody(textProblemOf(problem)));
      assert.equal(Number(status), ERROR_KINDS.unavailable.status);
      assert.match(text, new RegExp(`^\\t\\theader Retry-After ${retryAfterSeconds}$`, 'm'));
      assert.match(text, /^\thandle_errors 502 503 504 \{$/m);
    });
  }
});
