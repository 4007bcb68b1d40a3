<?php
// Collects 4,000 pages of two rows each.
$how = $argv[1];
$all = [];
for ($i = 0; $i < 4000; $i++) {
    $page = ["a" . hash_pbkdf2("md5", "a$i", "s", 150), "b$i"];
    if ($how === "merge") {
        $all = array_merge($all, $page);
    } else {
        array_push($all, ...$page);
    }
}
echo count($all), " ", md5(implode($all)), "\n";
