/** The prefix under which the service stands, as the document names it: behind a reverse proxy it is `/svc`, else nothing. */
export const basePath: string = document.documentElement.dataset.base ?? '';

/** The address of one of our pages, or of the API, behind that prefix. @param path begins with `/` */
export const hrefOf = (path: string): string => basePath + path;
