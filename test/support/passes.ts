/** Parts of the maintenance pass of a served application, one at a time. */
import { createActivities } from '../../activities/index.ts';
import type { Config } from '../../src/config/config.ts';
import {
  createArchivingSlots,
  createVideoArchivingSlots,
  createFrameDecoders,
  createStopSlots,
  createInputFetches,
} from '../../src/generation/slots.ts';
import { createUpstreams } from '../../src/upstreams/upstreams.ts';
import { createSettler } from '../../src/tasks/lifecycle/settle-queue.ts';
import type { Activities, ExpireResult, SweepResult } from '../../workflows/contracts.ts';
import type { ServedApp } from '../http/serve.ts';
import { runActivity } from './run-activity.ts';

export interface Passes {
  /** Records what has expired. @param settings that differ from those of the application. */
  expire(settings?: Partial<Config>): Promise<ExpireResult>;
  /** Deletes the bytes of deleted objects. */
  sweep(): Promise<SweepResult>;
}

export function createPasses(served: ServedApp): Passes {
  const activitiesWith = (settings: Partial<Config>): Activities =>
    createActivities({
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
    });
  return {
    expire: (settings = {}) => runActivity(() => activitiesWith(settings).expireOutputs()),
    sweep: () => runActivity(() => activitiesWith({}).sweepObjects({ target: 'deleted' })),
  };
}
