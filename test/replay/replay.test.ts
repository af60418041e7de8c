/**
 * Recorded histories replayed by the current workflows: a task that started before an update continues after it. How
 * to record: test/support/record-histories.ts.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { DefaultLogger, Runtime, Worker, bundleWorkflowCode, makeTelemetryFilterString } from '@temporalio/worker';
import type { WorkflowBundleOption } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { packageFile } from '../../src/config/package-root.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { BUILT_BUNDLE, bundleWorkflows } from '../../src/temporal/workflow-bundle.ts';
import { historyTexts } from '../support/history-texts.ts';

const DIRECTORY = packageFile('test/histories');
const NAMES = (await readdir(DIRECTORY)).filter((name) => name.endsWith('.json')).toSorted();

/** The histories that must be among them. */
const REQUIRED = [
  'success',
  'provider-failure',
  'provider-retry',
  'cancel',
  'callback-delivered',
  'callback-exhausted',
];

// The failures that are provoked here need no warning.
Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } },
});

async function readHistory(name: string): Promise<unknown> {
  return JSON.parse(await readFile(path.join(DIRECTORY, name), 'utf8'));
}

async function replay(workflowBundle: WorkflowBundleOption, name: string): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle }, await readHistory(name));
}

describe('the recorded histories', () => {
  it('are all present', () => {
    assert.deepEqual(
      REQUIRED.filter((name) => !NAMES.includes(`${name}.json`)),
      [],
    );
  });

  for (const name of NAMES) {
    it(`do not reveal where ${name} was recorded, and no prompt or URL`, async () => {
      for (const text of historyTexts(decoded(await readHistory(name)))) {
        assert.doesNotMatch(text, /\d@|https?:|\/home\/|\/root\/|\/work\/|\/tmp\/|file:|127\.0\.0\.1|lighthouse/);
      }
    });
  }
});

describe('the workflows made from source', () => {
  let bundle: WorkflowBundleOption;
  before(async () => {
    bundle = await bundleWorkflows(silentLogger());
  });

  for (const name of NAMES) {
    it(`replay ${name}`, () => replay(bundle, name));
  }
});

describe('the workflows as they were built', { skip: existsSync(BUILT_BUNDLE) ? false : 'there is no build' }, () => {
  for (const name of NAMES) {
    it(`replay ${name}`, () => replay({ codePath: BUILT_BUNDLE }, name));
  }
});

describe('a change that alters the commands of a workflow', () => {
  const histories = ['success.json', 'success-by-job.json', 'cancel.json'];
  const bundleOf = (name: string): Promise<WorkflowBundleOption> =>
    bundleWorkflowCode({
      workflowsPath: packageFile(`test/replay/changed-workflow/${name}.ts`),
      logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    });
  let unguarded: WorkflowBundleOption;
  let guarded: WorkflowBundleOption;
  before(async () => {
    [unguarded, guarded] = [await bundleOf('unguarded'), await bundleOf('guarded')];
  });

  for (const name of histories) {
    it(`is found with ${name}`, async () => {
      await assert.rejects(replay(unguarded, name), DeterminismViolationError);
    });

    it(`is accepted with ${name} if it is guarded by a patch`, () => replay(guarded, name));
  }
});

/** Payloads are stored in the files as base64: decodes them to bytes. */
function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === 'data' && typeof member === 'string' ? Buffer.from(member, 'base64') : decoded(member),
    ]),
  );
}
