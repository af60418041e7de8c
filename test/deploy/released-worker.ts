/**
 * Workers of two releases side by side, as an operator deploys them: a copy of the package whose workflows differ, and
 * the commands of Temporal's CLI by which work moves from one release to the other
 * (docs/operations/backup-and-upgrade.md).
 */
import { execFile } from 'node:child_process';
import { cp, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { bundleWorkflowCode } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { waitFor } from '@darkroom/testing/wait-for';
import { packageFile, packageModule } from '../../src/config/package-root.ts';
import { deploymentNameOf } from '../../src/domain/workflow-ids.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { temporalAddress } from '../support/test-namespace.ts';

const run = promisify(execFile);
const nothing = (): void => {};

/** A release whose tasks cannot continue on ours, nor ours on it. */
export interface OtherRelease {
  /** What starts one of its roles. */
  readonly program: readonly string[];
  readonly workflowBundle: WorkflowBundleWithSourceMap;
}

/** What a worker runs from in the compiled program, and what it needs that no release changes here. */
const COPIED = ['package.json', 'dist/src', 'dist/workflows', 'dist/activities'];
const SHARED = ['node_modules', 'migrations', 'models'];

/** Installs it. @param directory is created. */
export async function installOtherRelease(directory: string): Promise<OtherRelease> {
  for (const name of COPIED) await cp(packageFile(name), path.join(directory, name), { recursive: true });
  for (const name of SHARED) await symlink(packageFile(name), path.join(directory, name));
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: packageModule('test/deploy/changed-release/index.ts'),
    logger: { log: nothing, trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing },
  });
  await writeFile(path.join(directory, 'dist/workflow-bundle.js'), workflowBundle.code);
  return { program: [process.execPath, path.join(directory, 'dist/src/main.js')], workflowBundle };
}

/** The versions of an installation's workers, as an operator changes them. */
export class WorkerVersions {
  readonly #options: readonly string[];

  /** @param address of Temporal; default: that of the run. */
  constructor(
    { installationId, namespace }: Pick<Darkroom, 'installationId' | 'namespace'>,
    address = temporalAddress(),
  ) {
    const deployment = deploymentNameOf(installationId);
    this.#options = ['--deployment-name', deployment, '--address', address, '--namespace', namespace];
  }

  /** Makes a release the one on which tasks begin, as soon as Temporal knows its workers. */
  async promote(buildId: string): Promise<void> {
    await this.#change('set-current-version', '--build-id', buildId);
  }

  /** Lets this many of a hundred tasks begin on a release. */
  async ramp(buildId: string, percentage: number): Promise<void> {
    await this.#change('set-ramping-version', '--build-id', buildId, '--percentage', String(percentage));
  }

  /** Waits until no task of a release is open: its workers may be stopped. */
  async waitForDrained(buildId: string): Promise<void> {
    let found = '';
    await waitFor(
      () => `${buildId} is drained: ${found}`,
      async () => {
        const described = await this.#run('describe-version', '--build-id', buildId, '--output', 'json');
        found = described.replaceAll(/\s+/g, ' ');
        return /"drainageStatus": ?"drained"/.test(found);
      },
      1_000,
    );
  }

  async #change(command: string, ...options: readonly string[]): Promise<void> {
    let problem = '';
    await waitFor(
      () => `${command} ${options.join(' ')}: ${problem}`,
      async () => {
        try {
          await this.#run(command, ...options, '--yes');
          return true;
        } catch (error) {
          problem = String(error);
          return false;
        }
      },
      1_000,
    );
  }

  async #run(command: string, ...options: readonly string[]): Promise<string> {
    const args = ['worker', 'deployment', command, ...options, ...this.#options];
    return (await run(process.env['DARKROOM_TEST_TEMPORAL_CLI'] ?? 'temporal', args)).stdout;
  }
}

/** What a history shows of the workers that ran a workflow. */
export interface RunOnReleases {
  /** The builds that completed its workflow tasks, each once, in order. */
  readonly builds: readonly (string | undefined)[];
  /** The builds that ran its activities, each once. */
  readonly activityBuilds: readonly (string | undefined)[];
  readonly failedWorkflowTasks: number;
}

export async function readReleases(temporal: Client, workflowId: string): Promise<RunOnReleases> {
  const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  const builds = new Set<string | undefined>();
  const activityBuilds = new Set<string | undefined>();
  let failedWorkflowTasks = 0;
  for (const event of events ?? []) {
    const completed = event.workflowTaskCompletedEventAttributes;
    if (completed != null) builds.add(completed.deploymentVersion?.buildId ?? undefined);
    const started = event.activityTaskStartedEventAttributes;
    if (started != null) activityBuilds.add(started.workerVersion?.buildId ?? undefined);
    const failed = event.workflowTaskFailedEventAttributes;
    // A worker that stops hands its workflow tasks back.
    if (failed != null) failedWorkflowTasks += 1;
  }
  return { builds: [...builds], activityBuilds: [...activityBuilds], failedWorkflowTasks };
}
