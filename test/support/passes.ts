/** Maintenance passes of a served application as their Schedules start them: workflows on a real Temporal server. */
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import type { Config } from '../../src/config/config.ts';
import { newId } from '../../src/domain/ids.ts';
import { taskQueueOf } from '../../src/domain/workflow-ids.ts';
import { createArchivingSlots, createVideoArchivingSlots } from '../../src/generation/archiving-slots.ts';
import { createFrameDecoders } from '../../src/generation/frame-decoders.ts';
import { createInputFetches } from '../../src/generation/input-fetches.ts';
import { createStopSlots } from '../../src/generation/stop-slots.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { createUpstreams } from '../../src/upstreams/upstreams.ts';
import { createSettler } from '../../src/tasks/lifecycle/settle-queue.ts';
import type { ExpireResult, SweepResult } from '../../workflows/contracts.ts';
import type { ServedApp } from '../http/serve.ts';
import { createTestNamespace } from './test-namespace.ts';

/** The activities of a pass use this queue as well, so that one worker is enough. */
const QUEUE = taskQueueOf('maintenance', 'inst_ONE');

export interface Passes {
  /** Runs one pass to its end. @param settings that differ from those of the application. */
  expire(settings?: Partial<Config>): Promise<ExpireResult>;
  /** The same for the bytes of deleted objects. */
  sweep(): Promise<SweepResult>;
  close(): Promise<void>;
}

export async function openPasses(served: ServedApp): Promise<Passes> {
  const namespace = await createTestNamespace();
  const run = async <Result>(name: string, args: readonly unknown[], settings: Partial<Config>): Promise<Result> => {
    const worker = await Worker.create({
      connection: namespace.connection,
      namespace: namespace.name,
      taskQueue: QUEUE,
      workflowBundle: await loadWorkflowBundle(silentLogger()),
      activities: createActivities({
        ...served.http,
        config: { ...served.http.config, ...settings },
        settler: createSettler({ ...served.http, retentionDays: 7 }),
        providers: new Map(),
        inputFetches: createInputFetches(),
        archivingSlots: createArchivingSlots(),
        videoArchivingSlots: createVideoArchivingSlots(),
        frameDecoders: createFrameDecoders(),
        stopSlots: createStopSlots(),
        stopping: new AbortController().signal,
        ending: new AbortController().signal,
        upstreams: createUpstreams({ ...served.http, publicUrl: served.url, signingKey: 'x'.repeat(32) }),
        describeTask: () => Promise.resolve('unknown'),
        readRun: () => Promise.resolve(undefined),
        cancels: { watch: () => () => {} },
        recordHeartbeat: () => Promise.resolve(true),
      }),
    });
    const pass = { workflowId: newId('req'), taskQueue: QUEUE, args: [...args] };
    return worker.runUntil(namespace.client.workflow.execute(name, pass) as Promise<Result>);
  };
  return {
    expire: (settings = {}) => run('expireOutputs', [], settings),
    sweep: () => run('sweepObjects', [{ target: 'deleted' }], {}),
    close: () => namespace.close(),
  };
}
