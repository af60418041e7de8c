/** What a stack of containers must do, as its users and operators see it. */
import { admin } from './admin.ts';
import type { ContainerClient } from './client.ts';
import { CONFINEMENT_CHECKS } from './confinement-checks.ts';
import type { Engine } from './engine.ts';
import { IMAGE_CHECKS } from './image-checks.ts';
import { OPENAI_CHECKS } from './openai-checks.ts';
import { PAGE_CHECKS } from './page-checks.ts';
import { WEBHOOK_SECRET } from './receiver.ts';
import type { Receiver } from './receiver.ts';
import { RESTART_CHECKS } from './restart-checks.ts';
import type { Stack } from './stack.ts';
import { TASK_CHECKS } from './task-checks.ts';
import type { TemporalUiLogin } from './temporal-ui-login.ts';

export interface CheckContext {
  readonly engine: Engine;
  /** The base images, by their variables in docker-compose.yml. */
  readonly images: Readonly<Record<string, string>>;
  readonly stack: Stack;
  readonly client: ContainerClient;
  readonly login: TemporalUiLogin;
  /** The container that callbacks are sent to. */
  readonly receiver: Receiver;
}

/** @typeParam Context what it needs: less than all for a check that another installation has to pass too. */
export interface Check<Context = CheckContext> {
  readonly name: string;
  /** Throws if it does not hold. @returns what was measured, for the report. */
  check(context: Context): Promise<string | undefined>;
}

export const CHECKS: readonly Check[] = [
  {
    name: 'an account and a key are made by the commands of the README',
    async check({ stack, client }) {
      await admin(stack, 'accounts', 'create', '--name', 'first', '--usd', '50');
      client.key = ((await admin(stack, 'keys', 'create')) as { apiKey: string }).apiKey;
      await client.ask('PUT', '/v1/account/webhook-key', { secret: WEBHOOK_SECRET });
      return undefined;
    },
  },
  ...TASK_CHECKS,
  ...OPENAI_CHECKS,
  ...PAGE_CHECKS,
  ...CONFINEMENT_CHECKS,
  ...IMAGE_CHECKS,
  ...RESTART_CHECKS,
];
