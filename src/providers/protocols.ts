/**
 * Every protocol that this release speaks. To add one, add a directory, and its protocol to the list.
 */
import type { Protocol } from '../catalogue/protocol.ts';
import { EMBEDDED_PROTOCOL } from '../domain/upstream-names.ts';
import { cogProtocol } from './cog/cog-provider.ts';
import type { HookRules } from './hooks/hook-rules.ts';
import { httpProtocol } from './http/http-provider.ts';
import { openAiProtocol } from './openai/openai-provider.ts';
import type { Provider, UpstreamBinding } from './provider.ts';
import { replicateProtocol } from './replicate/replicate-provider.ts';
import { tasksProtocol } from './tasks/tasks-provider.ts';
import type { HttpProviderDeps } from './upstream-calls.ts';

/** A protocol of model files together with the provider that speaks it. */
export interface UpstreamProtocol extends Protocol {
  /** How an upstream calls back. Absent, or undefined: its calls are hints without a signature. */
  hookOf?(upstream: UpstreamBinding): HookRules | undefined;
  create(deps: HttpProviderDeps): Provider;
}

/** The protocols of upstreams. */
export const UPSTREAM_PROTOCOLS: readonly UpstreamProtocol[] = [
  openAiProtocol,
  replicateProtocol,
  tasksProtocol,
  cogProtocol,
  httpProtocol,
];

/** All protocols that a model file can name, including that of our own engines. */
export const PROTOCOLS: readonly Protocol[] = [{ name: EMBEDDED_PROTOCOL }, ...UPSTREAM_PROTOCOLS];
