/**
 * What a worker runs as workflow code: only our own, and only deterministic code (architecture, "Workflow versions
 * and upgrades").
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { bundleWorkflowCode } from '@temporalio/worker';
import { packageFile } from '../../src/config/package-root.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { BUILT_BUNDLE, bundleWorkflows } from '../../src/temporal/workflow-bundle.ts';
import { bundleModules } from '../support/bundle-modules.ts';

/** Temporal's workflow SDK and its dependencies. */
const SDK_PACKAGES = ['@temporalio/common', '@temporalio/workflow', 'long', 'ms', 'nexus-rpc'];

const ALLOWED = /^(?:dist\/)?(?:workflows|src\/domain)\//;

function assertAllowed(code: string): void {
  const { own, packages } = bundleModules(code);
  assert.ok(
    own.some((file) => file.endsWith('workflows/media-task.ts') || file.endsWith('workflows/media-task.js')),
    `the workflows themselves are not in it: ${own.join(', ')}`,
  );
  assert.deepEqual(
    own.filter((file) => !ALLOWED.test(file)),
    [],
  );
  assert.deepEqual(
    packages.filter((name) => !SDK_PACKAGES.includes(name)),
    [],
  );
}

describe('the workflow bundle', () => {
  it('contains only workflows, the domain and the SDK when it is built from source', async () => {
    assertAllowed((await bundleWorkflows(silentLogger())).code);
  });

  it(
    'contains only workflows, the domain and the SDK as it was built',
    { skip: existsSync(BUILT_BUNDLE) ? false : 'there is no build' },
    async () => {
      assertAllowed(await readFile(BUILT_BUNDLE, 'utf8'));
    },
  );

  it('is rejected by these tests when a workflow imports another module', async () => {
    const { code } = await bundleWorkflowCode({
      workflowsPath: packageFile('test/workflows/fixtures/stray-import.ts'),
      logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    });

    assert.ok(bundleModules(code).own.includes('src/catalogue/price.ts'));
    assert.ok(!ALLOWED.test('src/catalogue/price.ts'));
  });
});
