import type { Protocol } from '../catalogue/protocol.ts';
import type { Provider } from './provider.ts';
import type { HttpProviderDeps } from './upstream-calls.ts';

/** A protocol of model files together with the provider that speaks it. */
export interface UpstreamProtocol extends Protocol {
  create(deps: HttpProviderDeps): Provider;
}
