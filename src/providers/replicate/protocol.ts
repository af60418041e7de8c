import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { createReplicateProvider } from './replicate-provider.ts';

export const replicateProtocol: UpstreamProtocol = { name: 'replicate', create: createReplicateProvider };
