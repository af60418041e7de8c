/**
 * The conformance suite llmprobe, unmodified, against the text endpoints: every check of the two surfaces and of the
 * model list passes. The quality of the model does not count: it is not a real one.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packageFile } from '../../../src/config/package-root.ts';
import { BackgroundRoom } from '../../http/background-room.ts';
import { serveApp } from '../../http/serve.ts';
import type { ServedApp } from '../../http/serve.ts';

const SUITE = packageFile('node_modules/llmprobe/bin/dist/llmprobe.mjs');

/** The parts of its report that count here. */
interface Report {
  readonly conformance: {
    readonly bySurface: readonly { readonly surface: string; readonly passed: number; readonly total: number }[];
    readonly results: readonly {
      readonly id: string;
      readonly surface: string;
      readonly outcome: string;
      readonly failures: readonly { readonly severity: string; readonly message?: string }[];
    }[];
    readonly warnings: readonly unknown[];
  };
  readonly coverage: {
    readonly entries: readonly { readonly id: string; readonly supported: boolean; readonly detail?: string }[];
  };
}

/** With fewer checks than this it would be a different suite. */
const LEAST_CHECKS = { models: 4, chat: 100, responses: 90 };

/**
 * Checks without a definite result. A trailing assistant message is treated as a finished turn, which the suite
 * cannot distinguish from one that was ignored; it can send reasoning in a history only to chat; and it cannot host
 * MCP servers.
 */
const UNDECIDED: Readonly<Record<string, string>> = {
  'responses-reasoning-roundtrip': 'unsupported',
  'chat-assistant-prefill': 'inconclusive',
  'responses-mcp-tools': 'unsupported',
};

describe('llmprobe', () => {
  let served: ServedApp;
  let home: string;
  let attempts: AsyncDisposable;
  before(async () => {
    served = await serveApp();
    attempts = new BackgroundRoom(served).answerAll();
    home = await mkdtemp(path.join(os.tmpdir(), 'darkroom-llmprobe-'));
  });
  after(async () => {
    await attempts[Symbol.asyncDispose]();
    await served.close();
    await rm(home, { recursive: true, force: true });
  });

  async function probe(...options: string[]): Promise<Report> {
    const { client } = await served.newAccount();
    const target = [`${served.url}/v1`, '-k', client.key, '-m', 'acme/text'];
    const run = [SUITE, ...target, '--json', '--full', '--no-bench', '--no-save', ...options];
    const { stdout } = await promisify(execFile)(process.execPath, run, {
      env: { HOME: home },
      maxBuffer: 100_000_000,
    });
    return JSON.parse(stdout) as Report;
  }

  for (const effort of ['medium', 'default']) {
    // Proves S4.4-1, S4.4-2, C9-1, C9-2.
    it(`finds nothing wrong, with its reasoning set to ${effort}`, async () => {
      const { conformance, coverage } = await probe('--reasoning', effort);
      const ours = conformance.results.filter(({ surface }) => surface in LEAST_CHECKS);
      const notPassed = ours.filter(({ outcome }) => outcome !== 'pass');

      for (const { id, outcome, failures } of notPassed) {
        assert.equal(outcome, UNDECIDED[id], `${id}: ${JSON.stringify(failures)}`);
        assert.deepEqual(failures, [], id);
      }
      for (const [surface, least] of Object.entries(LEAST_CHECKS)) {
        const { passed = 0, total = 0 } = conformance.bySurface.find((each) => each.surface === surface) ?? {};
        assert.equal(passed, total, surface);
        assert.ok(total >= least, `${surface} has ${total} checks`);
      }
      assert.deepEqual(conformance.warnings, []);
      const background = coverage.entries.find(({ id }) => id === 'background');
      assert.equal(background?.supported, true, background?.detail);
    });
  }
});
