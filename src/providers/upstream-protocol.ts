import type { Protocol } from '../catalogue/protocol.ts';
import type { HookRules } from './hooks/hook-rules.ts';
import type { Provider, UpstreamBinding } from './provider.ts';
import type { HttpProviderDeps } from './upstream-calls.ts';

/** A protocol of model files together with the provider that speaks it. */
export interface UpstreamProtocol extends Protocol {
  /** How an upstream calls back. Absent, or undefined: its calls are hints without a signature. */
  hookOf?(upstream: UpstreamBinding): HookRules | undefined;
  create(deps: HttpProviderDeps): Provider;
}
