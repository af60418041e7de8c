/**
 * Tells Temporal what the outbox holds: in every api process, woken at once after a commit of that process and polling
 * otherwise (architecture, "One outbox for everything that Temporal must be told"). Any number of launchers may run.
 */
import { EMBEDDED_PROTOCOL, limitsOf, upstreamOf } from '../catalogue/definition.ts';
import type { PinnedDefinitions } from '../catalogue/pinned-definitions.ts';
import type { Database } from '../database/database.ts';
import { isTaskId } from '../domain/workflow-ids.ts';
import { claimOutbox, removeOutbox } from '../tasks/outbox.ts';
import type { OutboxItem } from '../tasks/outbox.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { WorkflowGateway } from '../temporal/workflow-gateway.ts';

/** What another process or a settlement put there is seen after this long at most (architecture). */
const POLL_INTERVAL_MS = 200;
/** Starts under way at once: enough to fill a Temporal server, few enough to leave a small one air. */
const MAX_IN_FLIGHT = 64;
/** After a failure nothing is claimed for this long: claims of a server that is away would only run out. */
const PAUSE_AFTER_FAILURE_MS = 1_000;

export interface Launcher {
  /** There may be something in the outbox; what was claimed already for this process is delivered at once. */
  wake(claimed?: OutboxItem): void;
  /** Whether it can deliver at this moment: it is not busy, and Temporal did not fail a moment ago. */
  hasRoom(): boolean;
  /** Claims nothing more, and waits for what is under way. */
  close(): Promise<void>;
}

export interface LauncherDependencies {
  readonly database: Database;
  readonly gateway: WorkflowGateway;
  readonly definitions: PinnedDefinitions;
  readonly tracing: Tracing;
  readonly logger: Logger;
}

export function startLauncher({ database, gateway, definitions, tracing, logger }: LauncherDependencies): Launcher {
  let isClosing = false;
  let isClaiming = false;
  let wantsAnother = false;
  /** Not by the wall clock, which may be set back and hold it closed for hours. */
  let pausedUntil = -Infinity;
  const underWay = new Set<Promise<void>>();
  let delivered: bigint[] = [];
  let removal: Promise<void> | undefined;

  const hasRoom = (): boolean => !isClosing && underWay.size < MAX_IN_FLIGHT && performance.now() >= pausedUntil;

  const wake = (claimed?: OutboxItem): void => {
    if (claimed !== undefined) {
      track(deliver(claimed));
      return;
    }
    wantsAnother = true;
    if (!isClaiming && !isClosing) void claimAll();
  };

  /** Claims for as long as there is something to claim and room to deliver it. */
  const claimAll = async (): Promise<void> => {
    isClaiming = true;
    try {
      while (wantsAnother && !isClosing && performance.now() >= pausedUntil) {
        wantsAnother = false;
        const room = MAX_IN_FLIGHT - underWay.size;
        if (room <= 0) break;
        // As many admissions and as many rows that are due.
        const items = await claimOutbox(database, Math.ceil(room / 2));
        for (const item of items) track(deliver(item));
        // A lone item was all there was: what comes later wakes us.
        if (items.length > 1) wantsAnother = true;
      }
    } catch (error) {
      pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
      logger.warn({ err: error }, 'the outbox could not be read');
    } finally {
      isClaiming = false;
    }
  };

  const track = (delivery: Promise<void>): void => {
    underWay.add(delivery);
    void delivery.finally(() => {
      underWay.delete(delivery);
      if (wantsAnother && !isClaiming && !isClosing) void claimAll();
    });
  };

  const deliver = async (item: OutboxItem): Promise<void> => {
    const startedAt = Date.now();
    try {
      const isDone = await tellTemporal(item);
      if (isTaskId(item.subjectId)) {
        const attributes = { 'darkroom.task_id': item.subjectId };
        tracing.task(item.subjectId, { name: `tell Temporal: ${item.kind}`, startedAt, attributes });
      }
      if (isDone) {
        delivered.push(item.id);
        await removeDelivered();
      }
    } catch (error) {
      pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
      logger.warn(
        { err: error, subjectId: item.subjectId, kind: item.kind },
        'Temporal could not be told; it will be again',
      );
    }
  };

  const tellTemporal = async (item: OutboxItem): Promise<boolean> => {
    switch (item.kind) {
      case 'start_task': {
        const definition = await definitions.read(item.definitionHash);
        const { handlingSeconds, archivingSeconds } = limitsOf(definition);
        await gateway.startTask({
          taskId: item.subjectId,
          accountId: item.accountId,
          model: item.model,
          route: item.route,
          handlingSeconds,
          archivingSeconds,
          isUpstream: upstreamOf(definition, item.route)?.protocol !== EMBEDDED_PROTOCOL,
        });
        return true;
      }
      case 'deliver_callback':
        await gateway.startCallback(item.subjectId, item.accountId);
        return true;
      case 'stop_generation':
        await gateway.startStop(item.subjectId, item.accountId);
        return true;
      case 'promote_output':
        await gateway.startPromotion(item.subjectId, item.accountId);
        return true;
      case 'cancel_task':
        // No workflow yet: its start is still on the way. The row comes due again, until the task is settled.
        return gateway.cancelTask(item.subjectId);
    }
  };

  /** Removes what was delivered, in batches: whatever arrives while one removal runs goes with the next. */
  const removeDelivered = async (): Promise<void> => {
    if (removal !== undefined) return removal;
    removal = (async () => {
      while (delivered.length > 0) {
        const batch = delivered;
        delivered = [];
        await removeOutbox(database, batch);
      }
    })().finally(() => {
      removal = undefined;
    });
    return removal;
  };

  const poll = setInterval(() => wake(), POLL_INTERVAL_MS);

  return {
    wake,
    hasRoom,
    async close() {
      isClosing = true;
      clearInterval(poll);
      await Promise.allSettled(underWay);
    },
  };
}
