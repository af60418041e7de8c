import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { RenameSchema } from './rename.ts';
import { createReplicateProvider } from './replicate-provider.ts';

export const replicateProtocol: UpstreamProtocol = {
  name: 'replicate',
  fields: { rename: RenameSchema },
  create: createReplicateProvider,
};
