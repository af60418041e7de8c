import { SecretName } from '../hooks/hook-rules.ts';
import type { UpstreamBinding } from '../provider.ts';
import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { RenameSchema } from './rename.ts';
import { createReplicateProvider } from './replicate-provider.ts';

/** An upstream whose calls are verified: Replicate signs them as Standard Webhooks describe. */
interface SigningUpstream extends UpstreamBinding {
  readonly webhookSecret: string;
}

export const replicateProtocol: UpstreamProtocol = {
  name: 'replicate',
  fields: {
    rename: RenameSchema,
    webhookSecret: SecretName(
      "Of `replicate`: the name of the credential with which the account's webhooks are signed.",
    ),
  },
  hookOf: (upstream) =>
    isSigning(upstream) ? { verify: { scheme: 'standard-webhooks', secret: upstream.webhookSecret } } : undefined,
  create: createReplicateProvider,
};

function isSigning(upstream: UpstreamBinding): upstream is SigningUpstream {
  return 'webhookSecret' in upstream;
}
