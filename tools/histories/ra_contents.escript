#!/usr/bin/env escript
%% Says what Ra itself finds in folders of its files: of each log that it would go on with, the
%% messages in it.  The folders are changed by that, as by a start of a node.
%%
%%   ra_contents.escript PLUGINS FOLDER...    log FOLDER GROUP Messages..., failed FOLDER Reason
-mode(compile).

main([Plugins | Folders]) ->
    code:add_pathsa(filelib:wildcard(Plugins ++ "/*/ebin")),
    logger:set_primary_config(level, emergency),
    application:set_env(ra, data_dir, "/nonexistent"),
    [told(number(N), Folder) || {N, Folder} <- lists:enumerate(Folders)].

number(N) -> list_to_atom("contents" ++ integer_to_list(N)).

told(System, Folder) ->
    case catch contents(System, Folder) of
        ok -> ok;
        Reason -> io:format("failed ~s ~0tp~n", [Folder, Reason])
    end.

contents(System, Folder) ->
    {ok, _} = application:ensure_all_started(gen_batch_server),
    {ok, _} = application:ensure_all_started(aten),
    {ok, _} = application:ensure_all_started(ra),
    Names = ra_system:derive_names(System),
    Config = (ra_system:default_config())#{
        name => System, data_dir => Folder, wal_data_dir => Folder, names => Names
    },
    {ok, _} = ra_system:start(Config),
    [
        log(Config, Names, Folder, filename:basename(filename:dirname(File)))
     || File <- filelib:wildcard(Folder ++ "/*/config")
    ],
    ok.

log(System, Names, Folder, UId) ->
    {ok, [Said]} = file:consult(Folder ++ "/" ++ UId ++ "/config"),
    #{id := {Group, _}} = Said,
    case ra_directory:uid_of(Names, Group) =:= list_to_binary(UId) of
        false ->
            ok;
        true ->
            Arguments = #{uid => list_to_binary(UId), system_config => System},
            ok = ra_log:pre_init(Arguments),
            Log = ra_log:init(Arguments),
            {Last, _} = ra_log:last_index_term(Log),
            Found = entries(Log, first(Log), Last),
            io:format("log ~s ~ts ~s~n", [Folder, Group, lists:join(" ", messages(Found))])
    end.

first(Log) -> maps:get(first_index, ra_log:overview(Log)).

entries(Log, First, Last) ->
    {Entries, _, _} = ra_log:take(First, Last - First + 1, Log),
    Entries.

messages(Entries) ->
    lists:append([
        case re:run(term_to_binary(Entry), "m-[-0-9a-z]+:[0-9]+;", [global, {capture, first, list}]) of
            {match, Found} -> lists:append(Found);
            nomatch -> []
        end
     || Entry <- Entries
    ]).
