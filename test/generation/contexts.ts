/** The context of src/generation over a real database and a real store: only providers are those of the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FILE_MS, createMediaInspector } from '@darkroom/media/inspect';
import { timeOutMs } from '../../src/config/time-outs.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { parseAllowList } from '../../src/egress/operator-lists.ts';
import { createEgress } from '../../src/egress/guarded-client.ts';
import {
  createArchivingSlots,
  createVideoArchivingSlots,
  createFrameDecoders,
  createStopSlots,
  createInputFetches,
} from '../../src/generation/slots.ts';
import type { GenerationContext } from '../../src/generation/context.ts';
import { createInspectionTurns } from '../../src/limits/media-turns.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createUpstreams } from '../../src/upstreams/upstreams.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

export interface GenerationBench {
  readonly context: GenerationContext;
  close(): Promise<void>;
}

/** @param providers by protocol. */
export function openGenerationBench(
  { database, creatorDependencies }: Pick<TaskRoom, 'database' | 'creatorDependencies'>,
  providers: Readonly<Record<string, Provider>> = {},
): GenerationBench {
  const logger = silentLogger();
  const metrics = createMetrics();
  const directory = mkdtempSync(path.join(tmpdir(), 'darkroom-generation-'));
  const store = createDiskStore(path.join(directory, 'objects'));
  const egress = createEgress({ allow: parseAllowList([]), ports: [443], logger });
  const inspector = createMediaInspector({ turns: createInspectionTurns(), fileMs: timeOutMs(FILE_MS) });
  const { urlSigner } = creatorDependencies;
  return {
    context: {
      config: { worker: { scratchDir: path.join(directory, 'scratch'), upstreamGraceMs: 600_000 } },
      logger,
      metrics,
      database,
      store,
      urlSigner,
      definitions: createPinnedDefinitions(database),
      providers: new Map(Object.entries(providers)),
      upstreams: createUpstreams({
        database,
        logger,
        publicUrl: 'http://127.0.0.1',
        signingKey: 'a signing key of at least 32 characters',
      }),
      egress,
      inputFetches: createInputFetches(),
      archivingSlots: createArchivingSlots(),
      videoArchivingSlots: createVideoArchivingSlots(),
      frameDecoders: createFrameDecoders(),
      stopSlots: createStopSlots(),
      inspector,
      stopping: new AbortController().signal,
      ending: new AbortController().signal,
      readRun: () => Promise.resolve(undefined),
    },
    async close() {
      await inspector.close();
      await egress.close();
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
