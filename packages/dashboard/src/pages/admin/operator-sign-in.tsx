/**
 * Prompts for the operator's token, and verifies it before anything else is shown. A valid one is kept in the session
 * storage, which only this tab has, and which ends with it.
 */
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { createOperatorApi, readServiceFacts } from '../../api/admin.ts';
import type { Operator } from '../../api/admin.ts';
import { ApiError } from '../../api/api.ts';
import { SignInForm } from '../../session/sign-in-form.tsx';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';

const { signIn: words } = texts;
const TOKEN = 'darkroom-operator-token';

/** Ends what a reload would go on with. */
export function forgetToken(): void {
  window.sessionStorage.removeItem(TOKEN);
}

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
      window.sessionStorage.setItem(TOKEN, token);
      return { api, service };
    },
    onSuccess: onSignedIn,
    onError(error) {
      if (isWrongToken(error)) forgetToken();
    },
  });
  const { mutate } = attempt;
  useEffect(() => {
    const token = window.sessionStorage.getItem(TOKEN);
    if (token !== null) mutate(token);
  }, [mutate]);
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

function messageOf(error: Error): string {
  return isWrongToken(error) ? words.wrong : error.message;
}

/** A token with invalid characters is rejected before it is sent. */
function isWrongToken(error: Error): boolean {
  return error instanceof TypeError || (error instanceof ApiError && error.kind === 'unauthenticated');
}
