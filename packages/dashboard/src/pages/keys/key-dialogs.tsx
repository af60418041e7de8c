/**
 * The dialogs that change keys, of which at most one is open: the same for an account, on its own page, and for an
 * operator, on the account's page.
 */
import type { CreatedKey, Key, KeyActions } from '../../api/keys.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { CreatedKeyDialog } from './created-key-dialog.tsx';
import type { Grantable } from './new-key-form.ts';
import { RevokeKeyDialog } from './revoke-key-dialog.tsx';
import { RotateKeyDialog } from './rotate-key-dialog.tsx';

export type OpenKeyDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate' | 'revoke'; readonly target: Key }
  | { readonly kind: 'created'; readonly created: CreatedKey };

/** The id of the button that opens the first dialog. */
export const CREATE_KEY_BUTTON = 'create-key';

/** Where the focus returns: to the menu of the key that was changed, if it still has one. */
function openerOf(dialog: OpenKeyDialog | undefined): HTMLElement | null {
  const id = dialog !== undefined && 'target' in dialog ? dialog.target.id : undefined;
  const menu = id === undefined ? null : document.querySelector<HTMLElement>(`[data-key-id="${id}"] [aria-haspopup]`);
  return menu ?? document.querySelector<HTMLElement>(`#${CREATE_KEY_BUTTON}`);
}

export function KeyDialogs(props: {
  /** Undefined: none is open. */
  readonly open: OpenKeyDialog | undefined;
  readonly onOpen: (dialog: OpenKeyDialog | undefined) => void;
  readonly actions: KeyActions;
  readonly grantable: Grantable;
  /** Names of models that can be selected; undefined: they cannot be listed. */
  readonly modelNames: readonly string[] | undefined;
  /** The id of the session's key; undefined: an operator. */
  readonly ownKeyId?: string;
  /** Where programs reach the API, with `/v1`. */
  readonly baseUrl: string;
}) {
  const { open, onOpen, actions, grantable, modelNames, ownKeyId, baseUrl } = props;
  const close = (): void => {
    onOpen(undefined);
    // After the dialog, which had the focus, is gone.
    requestAnimationFrame(() => openerOf(open)?.focus());
  };
  const onCreated = (created: CreatedKey): void => onOpen({ kind: 'created', created });
  if (open === undefined) return null;
  switch (open.kind) {
    case 'create':
      return (
        <CreateKeyDialog {...{ grantable, modelNames }} create={actions.create} onCreated={onCreated} onClose={close} />
      );
    case 'rotate':
      return (
        <RotateKeyDialog
          target={open.target}
          isOwn={open.target.id === ownKeyId}
          rotate={actions.rotate}
          onCreated={onCreated}
          onClose={close}
        />
      );
    case 'revoke':
      return (
        <RevokeKeyDialog
          target={open.target}
          isOwn={open.target.id === ownKeyId}
          revoke={actions.revoke}
          onClose={close}
        />
      );
    case 'created':
      return <CreatedKeyDialog created={open.created} baseUrl={baseUrl} onClose={close} />;
  }
}
