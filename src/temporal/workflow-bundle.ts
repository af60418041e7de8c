/**
 * The workflow bundle: all deterministic code as one script, which workers run and replay tests replay. The build
 * creates it once; without a build it is created at start (some seconds).
 */
import { existsSync } from 'node:fs';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { WorkflowBundleOption, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { packageFile, packageModule } from '../config/package-root.ts';
import type { Logger } from '../telemetry/log.ts';

/** A bundle in memory or on disk, as accepted by `Worker.create`. */
export type WorkflowBundle = WorkflowBundleOption;

/** Where the build writes the bundle. */
export const BUILT_BUNDLE = packageFile('dist/workflow-bundle.js');

/** Bundles the workflows from their source. */
export async function bundleWorkflows(logger: Logger): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: packageModule('workflows/index.ts'),
    logger: {
      log: (level, message) => logger.debug({ level }, message),
      trace: (message) => logger.trace(message),
      debug: (message) => logger.debug(message),
      info: (message) => logger.debug(message),
      warn: (message) => logger.warn(message),
      error: (message) => logger.error(message),
    },
  });
}

/** The built bundle if there is one, otherwise one created now. */
export async function loadWorkflowBundle(logger: Logger): Promise<WorkflowBundle> {
  return existsSync(BUILT_BUNDLE) ? { codePath: BUILT_BUNDLE } : bundleWorkflows(logger);
}
