/** Prompts for the operator's token, and verifies it before anything else is shown. */
import { useMutation } from '@tanstack/react-query';
import { createOperatorApi, readServiceFacts } from '../../api/admin.ts';
import type { Operator } from '../../api/admin.ts';
import { ApiError } from '../../api/api.ts';
import { SignInForm } from '../../session/sign-in-form.tsx';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';

const { signIn: words } = texts;

export function OperatorSignIn(props: {
  /** Why one has to sign in again. */
  readonly note: string | undefined;
  readonly onSignedIn: (operator: Pick<Operator, 'api' | 'service'>) => void;
  /** A token that was valid no longer is. */
  readonly onExpired: () => void;
}) {
  const { note, onSignedIn, onExpired } = props;
  const attempt = useMutation({
    async mutationFn(token: string) {
      let isValid = false;
      const api = createOperatorApi(token, () => {
        if (isValid) onExpired();
      });
      const service = await readServiceFacts(api);
      isValid = true;
      return { api, service };
    },
    onSuccess: onSignedIn,
  });
  return (
    <SignInForm
      title={words.title}
      documentTitle={`${words.title} · ${common.product}`}
      note={note}
      label={words.token}
      hint={words.hint}
      error={attempt.error === null ? undefined : messageOf(attempt.error)}
      isBusy={attempt.isPending}
      onSubmit={(token) => attempt.mutate(token)}
      help={{ hint: words.commandHint, command: words.command }}
    />
  );
}

/** A token with invalid characters is rejected before it is sent. */
function messageOf(error: Error): string {
  const isWrong = error instanceof TypeError || (error instanceof ApiError && error.kind === 'unauthenticated');
  return isWrong ? words.wrong : error.message;
}
