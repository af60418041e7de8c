/** A model's name, which goes on in the next line behind a slash before it does anywhere else. */
import { Fragment } from 'react';

export function ModelName({ name }: { readonly name: string }) {
  return name.split('/').map((part, place) => (
    <Fragment key={place}>
      {place === 0 ? null : (
        <>
          /<wbr />
        </>
      )}
      {part}
    </Fragment>
  ));
}
