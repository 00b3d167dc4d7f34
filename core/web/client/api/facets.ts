/** Reads of the values by which sessions can be filtered. */
import type { Facet, FacetField } from '../../../model/browse.ts';
import { request } from './request.ts';

/** @param query the filters of the list, named as the API names them */
export const browseFacets = async (
  field: FacetField,
  query: URLSearchParams,
  signal?: AbortSignal,
): Promise<Facet[]> => {
  const parameters = new URLSearchParams([...query, ['field', field], ['limit', '200']]);
  return (await request<{ items: Facet[] }>(`/v1/browse/facets?${parameters}`, { signal })).items;
};
